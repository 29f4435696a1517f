#include "engine/model/directory_path.h"

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("directory: empty parts and dots do not count, and names are compared whole") {
  CHECK(plain_path("/srv//models/./one/") == "/srv/models/one/");
  CHECK(plain_path("/") == "/");
  CHECK(plain_path("") == "/");
  const auto in_one = [](const char* one, const char* other) {
    return nested_or_same(plain_path(one), plain_path(other));
  };
  CHECK(in_one("/srv/models", "/srv/models/"));
  CHECK(in_one("/srv", "/srv/models"));
  CHECK(in_one("/srv/models", "/srv"));
  CHECK_FALSE(in_one("/srv/models", "/srv/models-2"));
  CHECK_FALSE(in_one("/srv/a", "/srv/b"));
}

}  // namespace sparkplan
