// Whether a layer unpacks to about the bytes that it has.
#include "engine/copy/images/layer_headers.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/copy/tar_files.h"

namespace sparkplan::copy {

using namespace test;

namespace {

/// In pieces of this size.
Result<void> read_layer(const std::string& bytes, std::size_t piece) {
  LayerHeaders headers;
  for (std::size_t at = 0; at < bytes.size(); at += piece) headers.add(std::string_view(bytes).substr(at, piece));
  return headers.end();
}

/// It does not matter how the layer arrives.
bool is_accepted(const std::string& bytes) {
  const auto whole = read_layer(bytes, std::max<std::size_t>(bytes.size(), 1));
  for (const std::size_t piece : {1U, 511U, 512U, 700U})
    CHECK(read_layer(bytes, piece).has_value() == whole.has_value());
  if (!whole) CHECK(whole.error().code == ErrorCode::kUnsupported);
  return whole.has_value();
}

/// With its own length before it.
std::string record(const std::string& text) {
  const auto with = [&](std::size_t length) { return std::to_string(length) + " " + text + "\n"; };
  std::size_t length = text.size() + 2;
  while (with(length).size() != length) ++length;
  return with(length);
}

const std::string kTerabyte = "1099511627776";

}  // namespace

TEST_CASE("layer: a file with holes, which unpacks to more than the layer has, is refused") {
  CHECK_FALSE(is_accepted(entry("hole", "", 'S') + end()));
  CHECK_FALSE(is_accepted(entry("a", "text") + entry("hole", "map", 'S') + end()));
  for (const std::string& text : {std::string("GNU.sparse.major=1"), "GNU.sparse.realsize=" + kTerabyte,
                                  "GNU.sparse.size=" + kTerabyte, std::string("GNU.sparse.map=0,1")}) {
    INFO(text);
    CHECK_FALSE(is_accepted(entry("pax", record(text), 'x') + entry("hole", "text") + end()));
    CHECK_FALSE(is_accepted(entry("pax", record(text), 'g') + entry("hole", "text") + end()));
    CHECK_FALSE(is_accepted(entry("pax", record("mtime=1") + record(text), 'x') + entry("hole", "text") + end()));
  }
}

TEST_CASE("layer: no header hides in what engines take for a header, or the other way round") {
  const std::string hole = entry("hole", "", 'S');
  REQUIRE(is_accepted(entry("file", hole) + end()));
  // Links, directories and devices have no content, whatever size they state.
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    INFO(type);
    CHECK_FALSE(is_accepted(header("a", 512, type) + hole + end()));
    CHECK(is_accepted(header("a", 512, type) + entry("b", "text") + end()));
  }
  // A file without a type, with the name of a directory.
  CHECK(is_accepted(entry("a", "text", '\0') + end()));
  CHECK_FALSE(is_accepted(header("a/", 512, '\0') + hole + end()));
  CHECK_FALSE(is_accepted(header("", 512, '\0') + hole + end()));
  CHECK_FALSE(is_accepted(entry("pax", record("path=a/"), 'x') + header("a", 512, '\0') + hole + end()));
  CHECK_FALSE(is_accepted(entry("long", "a/", 'L') + header("a", 512, '\0') + hole + end()));
  // The size in an extended header counts for the next name, and for no other.
  const auto sized = [](const std::string& size) { return entry("pax", record("size=" + size), 'x'); };
  CHECK_FALSE(is_accepted(sized("0") + header("a", 512, '0') + hole + end()));
  CHECK_FALSE(is_accepted(sized("0") + header("a", 512, '0') + header("b", 0, '0') + hole + end()));
  CHECK(is_accepted(sized("512") + header("a", 0, '0') + hole + end()));
  CHECK_FALSE(is_accepted(sized("512") + entry("pax", record("mtime=1"), 'x') + header("a", 0, '0') + hole + end()));
  CHECK_FALSE(is_accepted(entry("pax", record("size=512"), 'g') + header("a", 0, '0') + hole + end()));
  for (const std::string wrong : {"", "-512", "+512", "0x200", "9223372036854775807"}) {
    INFO(wrong);
    CHECK_FALSE(is_accepted(sized(wrong) + header("a", 512, '0') + hole + end()));
  }
}

TEST_CASE("layer: a file without a type is a directory only by the end of its name") {
  const std::string content = header("a", 512, '\0') + entry("hole", "", 'S') + end();
  REQUIRE(is_accepted(content));
  // None of these changes the name.
  CHECK(is_accepted(entry("pax", record("mtime=1.5"), 'x') + content));
  CHECK(is_accepted(entry("pax", record("comment=a/"), 'g') + content));
  CHECK(is_accepted(entry("long", "target/", 'K') + content));
  CHECK(is_accepted(entry("pax", record("path=b/c"), 'x') + content));
  CHECK(is_accepted(entry("long", std::string("b/c\0d/", 6), 'L') + content));
  CHECK(is_accepted(entry("pax", record("path=b/c"), 'x') + header("a/", 512, '\0') + entry("hole", "", 'S') + end()));
  CHECK_FALSE(is_accepted(entry("pax", record("path=b/"), 'x') + content));
  CHECK_FALSE(is_accepted(entry("long", std::string("b/\0", 3), 'L') + content));
  CHECK_FALSE(is_accepted(entry("long", "b", 'L') + entry("pax", record("path=b/"), 'x') + content));
  // An empty name is none. An extended header for all names makes an engine forget the headers before it.
  CHECK_FALSE(is_accepted(entry("pax", record("path="), 'x') + header("a/", 512, '\0') + entry("hole", "", 'S')));
  CHECK_FALSE(is_accepted(entry("pax", record("path=b"), 'x') + entry("pax", record("comment=b"), 'g') +
                          header("a/", 512, '\0') + entry("hole", "", 'S')));
}

TEST_CASE("layer: extended headers and long names are bounded, because engines keep them in their memory") {
  const std::string file = entry("a", "text") + end();
  for (const char type : {'x', 'L', 'K'}) {
    INFO(type);
    const std::string one = entry("extended", record("mtime=1"), type);
    CHECK(is_accepted(one + file));
    CHECK_FALSE(is_accepted(one + one + file));
    CHECK_FALSE(is_accepted(entry("extended", "", type) + one + file));
    CHECK_FALSE(is_accepted(header("extended", (1 << 20) + 1, type) + std::string((1 << 20) + 512, 'a') + file));
    CHECK_FALSE(is_accepted(header("extended", std::int64_t{1} << 32, type) + file));
  }
  LayerHeaders headers;
  headers.add(entry("pax", record("mtime=1"), 'x') + entry("long", "name", 'L') + entry("a", "text") +
              entry("pax", record("comment=1"), 'g') + file);
  CHECK(headers.end());
  const std::size_t bytes = record("mtime=1").size() + 4 + record("comment=1").size();
  CHECK(headers.extended_bytes() == static_cast<std::int64_t>(bytes));
}

TEST_CASE("layer: names are counted, and the directories that an engine makes in front of them") {
  const auto implied = [](const std::string& bytes, std::int64_t names) {
    LayerHeaders headers;
    headers.add(bytes);
    CHECK(headers.names() == names);
    return headers.implied_directories();
  };
  const std::string usr = entry("usr/", "", '5') + entry("usr/bin/", "", '5');
  CHECK(implied(usr + entry("usr/bin/a", "text") + entry("usr/bin/b", "") + entry("usr/z", ""), 5) == 0);
  CHECK(implied(entry("usr/bin/a", "text") + entry("usr/bin/b", "") + entry("usr/lib/a", ""), 3) == 3);
  CHECK(implied(entry("aa/a", "") + entry("ab/a", "") + entry("a", ""), 3) == 2);
  CHECK(implied(entry("pax", record("path=b/c/d"), 'x') + entry("a", "text"), 1) == 2);
  CHECK(implied(entry("long", "b/c/d/e", 'L') + entry("a", "text"), 1) == 3);
  std::string prefixed = header("a/b", 0, '0');
  prefixed.replace(345, 3, "c/d");
  CHECK(implied(with_checksum(prefixed), 1) == 3);
}

TEST_CASE("layer: what engines and builders write is accepted") {
  CHECK(is_accepted(""));
  CHECK(is_accepted(end()));
  CHECK(is_accepted(std::string(512, '\0')));
  CHECK(is_accepted(entry("dir/", "", '5') + entry("dir/file", std::string(1300, 'a')) + entry("null", "", '3') +
                    link("link", "dir/file") + entry("hard", "", '1') + entry("other", "text", '7') + end()));
  CHECK(is_accepted(entry("pax", record("path=dir/\xc3\xa4") + record("SCHILY.xattr.user.a=b=c"), 'x') +
                    entry("dir/a", "text") + end()));
  CHECK(is_accepted(entry("pax", "", 'x') + entry("a", "text") + end()));
  CHECK(is_accepted(entry("pax", record("comment=abc"), 'g') + entry("a", "text") + end()));
  CHECK(is_accepted(entry("././@LongLink", std::string(300, 'n'), 'L') + entry("././@LongLink", "t", 'K') +
                    link("n", "t") + end()));
  CHECK(is_accepted(entry("\xc3\xa4", "text") + end()));
  // One of each kind for a name, and for the next one again.
  const std::string extended = entry("pax", record("mtime=1"), 'x') + entry("long", "a", 'L') + entry("long", "b", 'K');
  CHECK(is_accepted(extended + entry("a", "text") + extended + entry("b", "text") + end()));
  CHECK(is_accepted(entry("long", std::string(1 << 20, 'a'), 'L') + entry("b", "text") + end()));
  // Without blocks of zeros, or with many; what follows them, no engine reads.
  CHECK(is_accepted(entry("a", "text")));
  CHECK(is_accepted(entry("a", "text").substr(0, 512 + 4)));
  CHECK(is_accepted(entry("a", "text") + std::string(10'240, '\0')));
  CHECK(is_accepted(entry("a", "text") + end() + "behind"));
  // Of an old format: without its name in the header.
  std::string old = header("a", 0, '0');
  old.replace(257, 8, std::string(8, '\0'));
  CHECK(is_accepted(with_checksum(old) + end()));
}

TEST_CASE("layer: what is no whole archive of this form is refused") {
  CHECK_FALSE(is_accepted("layer"));
  CHECK_FALSE(is_accepted(std::string(512, 'x')));
  CHECK_FALSE(is_accepted(entry("a", "text").substr(0, 512 + 3)));
  CHECK_FALSE(is_accepted(entry("a", "text") + "short"));
  CHECK_FALSE(is_accepted(std::string(512, '\0') + entry("a", "text")));
  CHECK_FALSE(is_accepted(entry("pax", record("comment=" + std::string(600, 'a')), 'x').substr(0, 1000)));
  CHECK_FALSE(is_accepted(entry("pax", "no record", 'x') + entry("a", "text") + end()));
  CHECK_FALSE(is_accepted(header("pax", (1 << 20) + 1, 'x') + std::string(2 << 20, 'a') + end()));
  std::string changed = header("a", 0, '0');
  changed[0] = 'b';
  CHECK_FALSE(is_accepted(changed + end()));
  std::string no_size = header("a", 0, '0');
  no_size.replace(124, 11, "0000000009x");
  CHECK_FALSE(is_accepted(with_checksum(no_size) + end()));
}

}  // namespace sparkplan::copy
