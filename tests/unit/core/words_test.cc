#include "engine/core/text.h"

#include "engine/core/number_format.h"
#include "engine/core/tree.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("words_of() splits at any run of blanks, also at the ends") {
  CHECK(words_of("10.0.0.1  a\tb\r\n") == Texts{"10.0.0.1", "a", "b"});
  CHECK(words_of("\v a \f") == Texts{"a"});
  CHECK(words_of(" \t\n").empty());
  CHECK(words_of("").empty());
}

TEST_CASE("texts_in() and list_of_texts() are inverse, also for an empty list") {
  for (const Texts& texts : {Texts{}, Texts{""}, Texts{"b", "a", "b"}}) {
    const Value list = list_of_texts(texts);
    CHECK(texts_in(&list) == texts);
  }
}

TEST_CASE("texts_in() skips items that are not texts, and returns nothing without a list") {
  const Value mixed = Value::list({Value("a"), Value(1), Value(true), Value("b")});
  CHECK(texts_in(&mixed) == Texts{"a", "b"});
  const Value text("a");
  CHECK(texts_in(&text).empty());
  CHECK(texts_in(nullptr).empty());
}

TEST_CASE("file_mode_text() has four octal digits, without the file type") {
  CHECK(file_mode_text(0) == "0000");
  CHECK(file_mode_text(0644) == "0644");
  CHECK(file_mode_text(04755) == "4755");
  CHECK(file_mode_text(0100600) == "0600");
}

}  // namespace
}  // namespace sparkplan
