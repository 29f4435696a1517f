#include "engine/core/text.h"
#include "engine/core/bounded_text.h"
#include "engine/core/number_format.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/core/utf8.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Views = std::vector<std::string_view>;
using Names = std::vector<std::string>;

TEST_CASE("split() returns one part more than there are separators") {
  CHECK(split(std::string_view("a,,b"), ',') == Views{"a", "", "b"});
  CHECK(split(std::string_view(""), ',') == Views{""});
  CHECK(split(std::string_view(","), ',') == Views{"", ""});
}

TEST_CASE("A final newline starts no new line, and an empty line counts") {
  CHECK(split_lines(std::string_view("a\nb\n")) == Views{"a", "b"});
  CHECK(split_lines(std::string_view("a\nb")) == Views{"a", "b"});
  CHECK(split_lines(std::string_view("a\n\n")) == Views{"a", ""});
  CHECK(split_lines(std::string_view("\n")) == Views{""});
  CHECK(split_lines(std::string_view("")).empty());
}

TEST_CASE("for_each_line() takes the lines of split_lines() one by one") {
  for (const std::string_view text : {"a\nb\n", "a\nb", "a\n\n", "\n", "\n\nb", ""}) {
    Views taken;
    for_each_line(text, [&](std::string_view line) { taken.push_back(line); });
    CHECK(taken == split_lines(text));
  }
}

TEST_CASE("take_line() removes a line and its newline, and leaves the others") {
  std::string_view text = "a\n\nb";
  CHECK(take_line(text) == "a");
  CHECK(text == "\nb");
  CHECK(take_line(text).empty());
  CHECK(take_line(text) == "b");
  CHECK(text.empty());
  CHECK(take_line(text).empty());
}

TEST_CASE("lines_with_ends() keeps each newline, so a last line without one differs") {
  CHECK(lines_with_ends(std::string_view("a\n\nb\n")) == Views{"a\n", "\n", "b\n"});
  CHECK(lines_with_ends(std::string_view("a\nb")) == Views{"a\n", "b"});
  CHECK(lines_with_ends(std::string_view("")).empty());
}

TEST_CASE("trim() of a temporary is a text of its own") {
  const auto lasting = trim(" " + std::string(100, 'a') + "\n");
  static_assert(std::is_same_v<decltype(lasting), const std::string>);
  CHECK(lasting == std::string(100, 'a'));
}

TEST_CASE("trim() removes blanks from the ends only") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(trim("").empty());
}

TEST_CASE("join() puts separators only between parts") {
  CHECK(join(Names{"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join(Names{"a"}, ", ") == "a");
  CHECK(join(Names{}, ", ").empty());
}

TEST_CASE("Well-formed UTF-8 is accepted up to the limits of each length") {
  for (const auto* text : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    INFO(printable(text));
    CHECK(is_valid_utf8(text));
  }
  CHECK(is_valid_utf8(std::string_view("\0", 1)));
}

TEST_CASE("Overlong forms, surrogates, stray and missing bytes are not UTF-8") {
  for (const auto* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff", "a\xe2\x82z"}) {
    INFO(printable(text));
    CHECK_FALSE(is_valid_utf8(text));
  }
}

TEST_CASE("Every code point survives encoding and decoding") {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const CodePoint point = code_point_at(text, 0);
    if (!point.valid || point.value != c || point.length != text.size()) FAIL("U+" << std::hex << unsigned{c});
  }
}

TEST_CASE("printable() keeps ordinary text of any script") {
  CHECK(printable("spark-01: größe, 名前, 😀") == "spark-01: größe, 名前, 😀");
}

TEST_CASE("printable_words() makes one blank of several") {
  CHECK(printable_words("anna@laptop   applied  3") == "anna@laptop applied 3");
  CHECK(printable_words("  a b ") == " a b ");
  CHECK(printable_words("a\nb") == printable("a\nb"));
  CHECK(printable_words("").empty());
}

TEST_CASE("printable() replaces control characters by their pictures") {
  CHECK(printable("\x1b[31m") == "\u241b[31m");
  CHECK(printable(std::string_view("\0\x7f\r", 3)) == "\u2400\u2421\u240d");
  CHECK(printable("\u0085\u009b") == "<U+0085><U+009B>");
}

TEST_CASE("printable() keeps newlines and tabs only on request") {
  CHECK(printable("a\tb\n") == "a\u2409b\u240a");
  CHECK(printable("a\tb\n", true) == "a\tb\n");
  CHECK(printable("a\r\x1b", true) == "a\u240d\u241b");
}

TEST_CASE("printable() escapes characters that reorder or hide text") {
  CHECK(printable("\u202eabc\u2066\u2069") == "<U+202E>abc<U+2066><U+2069>");
  CHECK(printable("\u200e\u200f\u061c") == "<U+200E><U+200F><U+061C>");
  CHECK(printable("\ufeff\u2028\u2029") == "<U+FEFF><U+2028><U+2029>");
}

TEST_CASE("printable() escapes invisible characters, also those used in scripts and emoji") {
  CHECK(printable("a\u00adb\u034f") == "a<U+00AD>b<U+034F>");
  CHECK(printable("\u200b\u200c\u200d\u2060\u2064\u206f") == "<U+200B><U+200C><U+200D><U+2060><U+2064><U+206F>");
  CHECK(printable("\u115f\u3164\uffa0\u180e\ufe0f") == "<U+115F><U+3164><U+FFA0><U+180E><U+FE0F>");
  CHECK(printable("\ufff9\ufffb\ufffe\uffff\ufdd0") == "<U+FFF9><U+FFFB><U+FFFE><U+FFFF><U+FDD0>");
  CHECK(printable("\U000e0041\U000e007f\U000e0100\U0010ffff") == "<U+E0041><U+E007F><U+E0100><U+10FFFF>");
}

TEST_CASE("is_treacherous() covers exactly the ranges that Unicode defines") {
  for (const unsigned c :
       {0x7fU,   0xa0U,   0xaeU,   0x61bU,  0x61dU,  0x200aU, 0x2010U, 0x2027U,  0x202fU,  0x205fU,  0x2070U,
        0xfdcfU, 0xfdf0U, 0xfe10U, 0xfefeU, 0xff00U, 0xfffcU, 0xfffdU, 0x1f600U, 0xdfffdU, 0xe1000U, 0x10fffdU}) {
    INFO(std::hex << c);
    CHECK_FALSE(is_treacherous(c));
  }
  for (const unsigned c : {0x80U, 0x9fU, 0xadU, 0x61cU, 0x200bU, 0x200fU, 0x2028U, 0x202eU, 0x2060U, 0x206fU, 0xfeffU,
                           0xfff9U, 0xfffbU, 0xe0000U, 0xe007fU, 0x1fffeU}) {
    INFO(std::hex << c);
    CHECK(is_treacherous(c));
  }
}

TEST_CASE("Every reordering character is treacherous, and some others are too") {
  for (char32_t c = 0; c <= 0xFFFF; ++c) {
    if (is_reordering(c) && !is_treacherous(c)) FAIL("U+" << std::hex << unsigned{c});
  }
  for (const unsigned c : {0x61cU, 0x200eU, 0x202aU, 0x202eU, 0x2066U, 0x2069U}) CHECK(is_reordering(c));
  for (const unsigned c : {0x200bU, 0x200dU, 0x2028U, 0x206aU, 0xfeffU}) CHECK_FALSE(is_reordering(c));
}

TEST_CASE("printable() replaces each broken sequence once") {
  CHECK(printable("a\xff\xfez") == "a\uFFFD\uFFFDz");
  CHECK(printable("a\xe2\x82z") == "a\uFFFDz");
  CHECK(printable("\xc2") == "\uFFFD");
  CHECK(printable("\xc2\x1b") == "\uFFFD\u241b");
}

TEST_CASE("printable() of any character contains no treacherous character") {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const std::string shown = printable(text);
    for (std::size_t i = 0; i < shown.size();) {
      const CodePoint point = code_point_at(shown, i);
      if (is_treacherous(point.value) || point.value < 0x20) FAIL("U+" << std::hex << unsigned{c});
      i += point.length;
    }
  }
}

TEST_CASE("printable() of any bytes is UTF-8 without control characters") {
  std::string all;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      all += static_cast<char>(first);
      all += static_cast<char>(second);
    }
  }
  const std::string shown = printable(all);
  CHECK(is_valid_utf8(shown));
  CHECK(std::none_of(shown.begin(), shown.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }));
}

TEST_CASE("nearest() finds the intended word of a typing error") {
  const Names keys{"sysctl", "limits", "fabric", "nodes"};
  CHECK(nearest("sysctrl", keys) == "sysctl");
  CHECK(nearest("limit", keys) == "limits");
  CHECK(nearest("ndoes", keys) == "nodes");
  CHECK(nearest("fabirc", keys) == "fabric");
}

TEST_CASE("nearest() suggests no distant candidate") {
  const Names keys{"sysctl", "limits"};
  CHECK_FALSE(nearest("storage", keys));
  CHECK_FALSE(nearest("", keys));
  CHECK_FALSE(nearest("sysctl", Names{}));
}

TEST_CASE("Two swapped letters count as one error, and two changed letters as two") {
  CHECK(nearest("mut", Names{"mtu"}) == "mtu");
  CHECK_FALSE(nearest("mxx", Names{"mtu"}));
}

TEST_CASE("nearest() compares no word of over 256 bytes, because the time grows with the square of the length") {
  const std::string longest(256, 'a');
  CHECK(nearest(longest, Names{longest.substr(1)}) == longest.substr(1));
  CHECK_FALSE(nearest(longest + "a", Names{longest}));
  CHECK_FALSE(nearest(longest, Names{longest + "a"}));
}

TEST_CASE("nearest() returns the first of equally distant candidates") {
  CHECK(nearest("port", Names{"sort", "fort"}) == "sort");
  CHECK(nearest("port", Names{"sort", "port"}) == "port");
}

TEST_CASE("names above 256 bytes are not folded, however many numbers they have") {
  std::string numbers;
  for (int i = 0; i < 1990; ++i) numbers += "1a";
  Names names;
  for (int i = 0; i < 40; ++i) names.push_back(numbers + std::to_string(10000 + i));
  CHECK(fold_names(names) == join(names, ", "));
  const std::string longest(kLongestFoldedName - 1, 'a');
  CHECK(fold_names(Names{longest + "1", longest + "2"}) == longest + "[1-2]");
  CHECK(fold_names(Names{longest + "01", longest + "02"}) == longest + "01, " + longest + "02");
}

TEST_CASE("Names that differ in one number are folded, and keep its width") {
  CHECK(fold_names(Names{"spark-01", "spark-02", "spark-03", "spark-04"}) == "spark-[01-04]");
  CHECK(fold_names(Names{"n1", "n2", "n3", "n5"}) == "n[1-3,5]");
  CHECK(fold_names(Names{"n8", "n9", "n10", "n11"}) == "n[8-11]");
  CHECK(fold_names(Names{"n08", "n09", "n10"}) == "n[08-10]");
}

TEST_CASE("Folding sorts numbers by value and removes repetitions") {
  CHECK(fold_names(Names{"n3", "n1", "n2", "n1"}) == "n[1-3]");
}

TEST_CASE("Numbers with different padding form no range") {
  CHECK(fold_names(Names{"n1", "n02"}) == "n[1,02]");
  CHECK(fold_names(Names{"n099", "n100"}) == "n[099-100]");
  CHECK(fold_names(Names{"n09", "n010"}) == "n[09,010]");
  CHECK(fold_names(Names{"n98", "n99", "n100"}) == "n[98-100]");
}

TEST_CASE("Names of different form are joined in order of first appearance") {
  CHECK(fold_names(Names{"login", "spark-02", "bastion", "spark-01"}) == "login, spark-[01-02], bastion");
  CHECK(fold_names(Names{"a1", "b1"}) == "a1, b1");
  CHECK(fold_names(Names{"spark-01"}) == "spark-01");
  CHECK(fold_names(Names{}).empty());
}

TEST_CASE("Of many names the first are folded, and the others counted") {
  CHECK(fold_first_names(Names{"n1", "n2", "n3"}, 3) == "n[1-3]");
  CHECK(fold_first_names(Names{"n1", "n2", "n3"}, 2) == "n[1-2] and 1 more");
}

TEST_CASE("Of several numbers in a name the differing one is folded") {
  CHECK(fold_names(Names{"rack1-n01", "rack1-n02", "rack1-n03"}) == "rack1-n[01-03]");
  CHECK(fold_names(Names{"r1.lab7", "r2.lab7"}) == "r[1-2].lab7");
  CHECK(fold_names(Names{"r1n1", "r1n2", "r2n1", "r2n2"}) == "r1n[1-2], r2n[1-2]");
}

TEST_CASE("Numbers too long for an integer are not folded") {
  CHECK(fold_names(Names{"n99999999999999999998", "n99999999999999999999"}) ==
        "n99999999999999999998, n99999999999999999999");
}

TEST_CASE("A glob must match the whole text") {
  CHECK(glob_match("net.*", "net.core.rmem_max"));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("", ""));
  CHECK(glob_match("a?c", "abc"));
  CHECK(glob_match("*a*b", "xaxbab"));
  CHECK(glob_match("spark-*", "spark-/01"));
  CHECK_FALSE(glob_match("net.*", "vnet.x"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK_FALSE(glob_match("a", "ab"));
  CHECK_FALSE(glob_match("", "a"));
  CHECK_FALSE(glob_match("?", ""));
}

TEST_CASE("A glob with many stars is matched in bounded time") {
  const std::string text(5000, 'a');
  CHECK_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*b", text));
}

}  // namespace
TEST_CASE("a number is distinguished from text that resembles one") {
  CHECK(number_or_text("4096") == Value(4096));
  CHECK(number_or_text("0") == Value(0));
  for (const std::string text : {"", "007", "-1", "1.5", "1e3", " 1", "unlimited", "1234567890123456789"}) {
    CHECK(number_or_text(text) == Value(text));
  }
}

TEST_CASE("a number is written with the fewest digits that restore it") {
  CHECK(real_text(0.1) == "0.1");
  CHECK(real_text(0.1 + 0.2) == "0.30000000000000004");
  CHECK(real_text(-2.5) == "-2.5");
  CHECK(real_text(1e22) == "1e+22");
  CHECK(real_text(100000) == "100000");
  CHECK(real_text(-std::numeric_limits<double>::max()) == "-1.7976931348623157e+308");
  CHECK(real_text(std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("a number is the whole text, and within the range of its type") {
  CHECK(parse_number("-42") == -42);
  CHECK(parse_number<std::uint32_t>("0644", 8) == 0644U);
  CHECK(parse_number<std::uint32_t>("4294967295") == 4294967295U);
  for (const char* text : {"", "1x", " 1", "+1", "0x1", "4294967296", "-1"}) {
    CHECK_FALSE(parse_number<std::uint32_t>(text));
  }
}

TEST_CASE("only the letters A to Z have a lower case") {
  CHECK(lower_case("Spark-01 \xC3\x84[@Z") == "spark-01 \xC3\x84[@z");
}

TEST_CASE("a value that could be read as an entry of a list is in quotes") {
  CHECK(listed_value("580.95.05") == "580.95.05");
  CHECK(listed_value("Ubuntu 24.04 (noble)") == "Ubuntu 24.04 (noble)");
  CHECK(listed_value("570 on spark-02") == "\"570 on spark-02\"");
  CHECK(listed_value("570, 560") == "\"570, 560\"");
  CHECK(listed_value("570; spark-02 560") == "\"570; spark-02 560\"");
  CHECK(listed_value("570\" on spark-02, \"560") == "\"570' on spark-02, '560\"");
  // Lists have these words for a node without a value.
  CHECK(listed_value("none") == "\"none\"");
  CHECK(listed_value("unknown") == "\"unknown\"");
}

}  // namespace sparkplan
