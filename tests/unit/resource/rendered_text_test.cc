#include "engine/resource/rendered_text.h"

#include "engine/resource/shell_environment.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a rendered text ends one byte above its bound, and is then full") {
  RenderedText text(5);
  text.add({"ab", "", "cde"});
  CHECK(text.text() == "abcde");
  CHECK_FALSE(text.is_full());
  text.add({"fgh"});
  CHECK(text.text() == "abcdef");
  CHECK(text.is_full());
  text.add({"i"});
  text.add_quoted("j");
  CHECK(std::move(text).text() == "abcdef");
}

TEST_CASE("a quoted part of a rendered text is one word of a shell, as far as the bound allows") {
  for (const std::string part : {"", "a b", "'", "it's", "''a'", "$HOME\\"}) {
    INFO(part);
    RenderedText text;
    text.add_quoted(part);
    CHECK(text.text() == shell_quote(part));
    RenderedText bounded(3);
    bounded.add_quoted(part);
    CHECK(bounded.text() == shell_quote(part).substr(0, 4));
  }
}

TEST_CASE("a text that reaches its bound is refused before it is written") {
  RenderedText text;
  text.add({std::string(kLargestTextFile + 1000, 'x')});
  CHECK(too_large_to_read(file_artifact("/etc/a"), file_present(text.text(), 0644)));
  RenderedText block(kLargestBlock);
  block.add({std::string(kLargestBlock, 'x')});
  CHECK_FALSE(too_large_to_read(block_artifact("/etc/a"), block_present(block.text())));
  block.add({"x"});
  CHECK(too_large_to_read(block_artifact("/etc/a"), block_present(block.text())));
}

}  // namespace sparkplan
