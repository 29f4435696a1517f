#include "engine/load/yaml_document.h"
#include "engine/load/yaml_text.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Value read(std::string_view text) {
  Findings findings;
  auto document = read_yaml(text, findings);
  INFO(text);
  for (const auto& finding : findings.all()) UNSCOPED_INFO(finding.message);
  CHECK(findings.all().empty());
  REQUIRE(document.usable);
  return std::move(document.root);
}

std::string place_text(const SourceRange& where) {
  return std::to_string(where.line) + ":" + std::to_string(where.column) + "-" + std::to_string(where.end_column);
}

}  // namespace

TEST_CASE("plain scalars have their YAML 1.2 types") {
  CHECK(type_plain_scalar("") == Value());
  CHECK(type_plain_scalar("~").is_null());
  CHECK(type_plain_scalar("null").is_null());
  CHECK(type_plain_scalar("NULL").is_null());
  CHECK(type_plain_scalar("nUll") == Value("nUll"));
  CHECK(type_plain_scalar("true") == Value(true));
  CHECK(type_plain_scalar("false") == Value(false));
  for (const char* const text : {"yes", "no", "on", "off", "y", "n", "True", "FALSE"}) {
    CHECK(type_plain_scalar(text) == Value(text));
  }
  CHECK(type_plain_scalar("9000") == Value(9000));
  CHECK(type_plain_scalar("-1") == Value(-1));
  CHECK(type_plain_scalar("+7") == Value(7));
  CHECK(type_plain_scalar("9223372036854775807") == Value(std::int64_t{9223372036854775807}));
  CHECK(type_plain_scalar("9223372036854775808") == Value("9223372036854775808"));
  CHECK(type_plain_scalar("1.5") == Value(1.5));
  CHECK(type_plain_scalar("1e3") == Value(1000.0));
  CHECK(type_plain_scalar(".5") == Value(0.5));
  CHECK(type_plain_scalar("1.") == Value(1.0));
  for (const char* const text : {"0x1F", "0o17", "1_000", "1:30", ".", "-", "+", "e5", "1e", "inf", ".inf", "nan",
                                 "1e999", "10.0.0.11", "--5", "1.2.3", "2026-01-01", "5 "}) {
    CHECK(type_plain_scalar(text) == Value(text));
  }
}

TEST_CASE("quotes and tags determine the type") {
  const Value root = read("a: '5'\nb: \"true\"\nc: !!str 5\nd: !!int 5\ne: |\n  5\nf: ! 5\ng: !!null ''\nh: 5\n");
  CHECK(root.text_or("a", "") == "5");
  CHECK(root.text_or("b", "") == "true");
  CHECK(root.text_or("c", "") == "5");
  CHECK(root.integer_or("d", 0) == 5);
  CHECK(root.text_or("e", "") == "5\n");
  CHECK(root.text_or("f", "") == "5");
  CHECK(root.find("g")->is_null());
  CHECK(root.integer_or("h", 0) == 5);
}

TEST_CASE("leading zeros are detected") {
  for (const char* const text : {"0644", "-01", "+00", "007"}) CHECK(has_leading_zero(text));
  for (const char* const text : {"0", "-0", "10", "0.5", "0x1", "", "-", "01a"}) CHECK_FALSE(has_leading_zero(text));
}

TEST_CASE("values and keys have positions in code points") {
  const Value root = read("größe: {a: \"日本\", b: [1, 'it''s', x y ]}\nempty:\nnull_word: ~\nblock: |\n  text\n");
  const auto* map = root.find_entry("größe");
  CHECK(place_text(map->key_where) == "1:1-6");
  CHECK(place_text(map->value.where) == "1:8-9");
  CHECK(place_text(map->value.find("a")->where) == "1:12-16");
  CHECK(place_text(map->value.find_entry("b")->key_where) == "1:18-19");
  const auto& items = *map->value.find("b")->list_items();
  CHECK(place_text(items[0].where) == "1:22-23");
  CHECK(place_text(items[1].where) == "1:25-32");
  CHECK(place_text(items[2].where) == "1:34-37");
  CHECK(place_text(root.find("empty")->where) == "2:1-6");
  CHECK(place_text(root.find("null_word")->where) == "3:12-13");
  CHECK(place_text(root.find("block")->where) == "4:8-9");
}

TEST_CASE("anchors and tags are not part of a value's position") {
  const Value root = read("a: &x !!str text\nb: *x\nc: &m\n  k: v\nd: *m\n");
  CHECK(place_text(root.find("a")->where) == "1:13-17");
  CHECK(place_text(root.find("b")->where) == "2:4-6");
  CHECK(root.text_or("b", "") == "text");
  CHECK(*root.find("c") == *root.find("d"));
}

TEST_CASE("carriage returns and a byte order mark are ignored") {
  const Value root = read(
      "\xEF\xBB\xBF"
      "a: b\r\nc: d e\r\n");
  CHECK(root.text_or("a", "") == "b");
  CHECK(root.text_or("c", "") == "d e");
  CHECK(place_text(root.find("c")->where) == "2:4-7");
}

TEST_CASE("an oversized or deeply nested text is refused quickly") {
  const auto codes = [](const std::string& text) {
    Findings findings;
    CHECK_FALSE(read_yaml(text, findings).usable);
    return findings.all().empty() ? std::string() : findings.all().front().code;
  };
  CHECK(codes(std::string(kLongestFile + 1, ' ')) == "yaml.too-long");
  CHECK(codes(std::string(100'000, '[')) == "yaml.too-deep");
  CHECK(codes(std::string(100'000, '{')) == "yaml.too-deep");
  std::string dashes;
  while (dashes.size() < 10'000) dashes += "- ";
  CHECK(codes(dashes + "x") == "yaml.too-deep");
  std::string items = "[";
  while (items.size() < 300'000) items += "a,";
  CHECK(codes(items + "a]") == "yaml.too-large");
  std::string copies = "a: &a \"" + std::string(500'000, 'x') + "\"\nb: [";
  while (copies.size() < 600'000) copies += "*a,";
  CHECK(codes(copies + "*a]\n") == "yaml.alias-bomb");
}

TEST_CASE("a text with 300000 commas and opening brackets is read, and one with more is refused before it is parsed") {
  const auto line = [](std::size_t commas) { return "a: \"" + std::string(commas, ',') + "\"\n"; };
  Findings findings;
  CHECK(read_yaml(line(300'000), findings).usable);
  CHECK(findings.all().empty());
  CHECK_FALSE(read_yaml(line(300'001), findings).usable);
  REQUIRE(findings.all().size() == 1);
  CHECK(findings.all().front().code == "yaml.too-large");
  CHECK(place_text(findings.all().front().where) == "1:300005-300006");
  // Of brackets that never close, the parser would keep a million.
  for (const char bracket : {'[', '{'}) {
    Findings of_brackets;
    CHECK_FALSE(read_yaml(std::string(kLongestFile, bracket), of_brackets).usable);
    REQUIRE(of_brackets.all().size() == 1);
    CHECK(of_brackets.all().front().code == "yaml.too-large");
  }
}

TEST_CASE("after 500 errors of YAML reading ends, with a finding that says so") {
  std::string text = "a: 0\n";
  for (int i = 0; i < 499; ++i) text += "a: 1\n";
  Findings few;
  CHECK(read_yaml(text, few).usable);
  CHECK(few.all().size() == 499);
  for (int i = 0; i < 20'000; ++i) text += "a: 1\n";
  Findings many;
  CHECK_FALSE(read_yaml(text, many).usable);
  REQUIRE(many.all().size() == 501);
  CHECK(many.all().back().code == "yaml.more-findings");
  CHECK(many.all()[499].code == "yaml.duplicate-key");
}

}  // namespace sparkplan
