#include "engine/model/container_image.h"

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("image id: 64 digits, with or without the algorithm") {
  const std::string digits(64, 'a');
  CHECK(image_id_from(digits) == digits);
  CHECK(image_id_from("sha256:" + digits) == digits);
  for (const std::string& other : {digits + "a", digits.substr(1), std::string(64, 'A'), "sha512:" + digits,
                                   "sha256:sha256:" + digits, std::string(64, 'g'), std::string()}) {
    INFO(other);
    CHECK_FALSE(image_id_from(other));
  }
  CHECK(short_image_id("0123456789abcdef") == "0123456789ab");
  CHECK(short_image_id("").empty());
}

TEST_CASE("image: the words of docker and of podman for an image that they lack") {
  for (const char* words : {"Error response from daemon: No such image: x:1", "Error: no such object: x:1",
                            "Error: inspecting object: x:1: image not known"}) {
    INFO(words);
    CHECK(says_no_such_image(words));
  }
  for (const char* words : {"", "permission denied", "the host is not known", "no such imag"}) {
    INFO(words);
    CHECK_FALSE(says_no_such_image(words));
  }
}

}  // namespace sparkplan
