#include "engine/resource/managed_block.h"

#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const std::string kBegin = "# BEGIN sparkplan (changes inside this block are overwritten)\n";
const std::string kEnd = "# END sparkplan\n";

std::string replaced(const std::string& text, const std::optional<std::string>& body) {
  const Result<std::string> result = replace_block(text, body);
  REQUIRE(result);
  return *result;
}

std::optional<std::string> found(const std::string& text) {
  const Result<std::optional<std::string>> result = find_block(text);
  REQUIRE(result);
  return *result;
}

std::string without_block(const std::string& text) { return replaced(text, std::nullopt); }

}  // namespace

TEST_CASE("a text without markers has no block") {
  CHECK_FALSE(found(""));
  CHECK_FALSE(found("127.0.0.1 localhost\n"));
  CHECK_FALSE(found("see # BEGIN sparkplan\n"));
}

TEST_CASE("an empty block is a block") {
  const std::string text = replaced("a\n", "");
  CHECK(text == "a\n" + kBegin + kEnd);
  CHECK(found(text) == "");
}

TEST_CASE("a new block is appended to the text") {
  CHECK(replaced("", "x\n") == kBegin + "x\n" + kEnd);
  CHECK(replaced("a\n", "x\n") == "a\n" + kBegin + "x\n" + kEnd);
}

TEST_CASE("a body without its final newline gets one") { CHECK(replaced("", "x") == kBegin + "x\n" + kEnd); }

TEST_CASE("only the body of a block is replaced, at any position") {
  const std::string text = "a\r\n" + kBegin + "old\nolder\n" + kEnd + "b";
  CHECK(replaced(text, "new\n") == "a\r\n" + kBegin + "new\n" + kEnd + "b");
  CHECK(without_block(text) == "a\r\nb");
}

TEST_CASE("a text without a final newline is restored without it") {
  const std::string with = replaced("a\nlast", "x\n");
  CHECK(found(with) == "x\n");
  CHECK(with.starts_with("a\nlast\n# BEGIN sparkplan"));
  CHECK(with.ends_with("\n# END sparkplan\n"));
  CHECK(without_block(with) == "a\nlast");
  CHECK(without_block(replaced(with, "y\nz\n")) == "a\nlast");
}

TEST_CASE("a line appended below the block stays when the block is removed") {
  CHECK(without_block(replaced("last", "x\n") + "more\n") == "last\nmore\n");
}

TEST_CASE("markers are recognised by their beginning") {
  CHECK(found("# BEGIN sparkplan of an older version\nx\n# END sparkplan lab\n") == "x\n");
  CHECK(found("# BEGIN sparkplan\r\nx\r\n# END sparkplan\r\n") == "x\r\n");
}

TEST_CASE("an end marker may be the last line without a newline") {
  CHECK(found(kBegin + "x\n# END sparkplan") == "x\n");
  CHECK(without_block("a\n" + kBegin + "x\n# END sparkplan") == "a\n");
}

TEST_CASE("damaged markers are an error that names the line") {
  struct Row {
    std::string text;
    std::string line;
  };
  const std::vector<Row> rows{{"a\n" + kBegin + "x\n", "line 2"},
                              {"a\nb\n" + kEnd, "line 3"},
                              {kBegin + kBegin + kEnd, "line 2"},
                              {kBegin + kEnd + "a\n" + kBegin + kEnd, "line 4"},
                              {kEnd + kBegin, "line 1"}};
  for (const Row& row : rows) {
    INFO(row.text);
    const Result<std::optional<std::string>> block = find_block(row.text);
    REQUIRE_FALSE(block);
    CHECK(block.error().code == ErrorCode::kInvalidInput);
    CHECK(block.error().context == std::vector<std::string>{row.line});
    CHECK_FALSE(block.error().hint.empty());
    CHECK_FALSE(replace_block(row.text, "x\n"));
    CHECK_FALSE(replace_block(row.text, std::nullopt));
  }
}

TEST_CASE("without a block the text above it is the whole text") {
  CHECK(text_above_block("") == "");
  CHECK(text_above_block("a\nb") == "a\nb");
  CHECK(text_above_block("a\n" + kBegin + "x\n" + kEnd + "b\n") == "a\n");
  CHECK(text_above_block(kBegin + "x\n" + kEnd + "b\n") == "");
  CHECK(text_above_block("a # BEGIN sparkplan\n") == "a # BEGIN sparkplan\n");
}

TEST_CASE("a body that contains a marker is refused") {
  CHECK_FALSE(replace_block("", "x\n" + kEnd));
  CHECK_FALSE(replace_block("", kBegin));
  CHECK(replace_block("", " # END sparkplan\n"));
}

TEST_CASE("removing a missing block changes nothing") {
  CHECK(without_block("a\nb") == "a\nb");
  CHECK(without_block("") == "");
}

TEST_CASE("adding, reading and removing a block is exact for any text") {
  std::mt19937 random(20240607);  // Fixed: a failure can be repeated.
  const std::string alphabet = "ab#\r\n\n \t";
  std::uniform_int_distribution<std::size_t> letter(0, alphabet.size() - 1);
  std::uniform_int_distribution<int> length(0, 30);
  const auto text = [&] {
    std::string made;
    for (int i = length(random); i > 0; --i) made += alphabet[letter(random)];
    return made;
  };
  for (int round = 0; round < 2000; ++round) {
    const std::string outside = text();
    std::string body = text();
    if (!body.empty() && !body.ends_with('\n')) body += '\n';
    INFO(outside << "|" << body);
    const std::string with = replaced(outside, body);
    CHECK(found(with) == body);
    CHECK(replaced(with, body) == with);
    CHECK(without_block(with) == outside);
  }
}

}  // namespace sparkplan
