#include "engine/core/digest.h"

#include <random>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

TEST_CASE("SHA-256 of the empty message matches FIPS 180-4") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("SHA-256 of one block matches FIPS 180-4") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("SHA-256 of two blocks matches FIPS 180-4") {
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("SHA-256 of a million letters matches FIPS 180-4") {
  CHECK(sha256(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 reads bytes, not characters") {
  CHECK(sha256(std::string(1, '\0')) == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  CHECK(sha256("\xbd") == "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

TEST_CASE("Equal values have equal digests, and different values have different ones") {
  const Value a = Value::map({{"x", 1}, {"y", Value::list({"a"})}});
  const Value b = Value::map({{"y", Value::list({"a"})}, {"x", 1}});
  CHECK(digest(a) == digest(b));
  CHECK(digest(a).size() == 64);
  CHECK(digest(Value(1)) != digest(Value(1.0)));
  CHECK(digest(Value(1)) != digest(Value("1")));
  CHECK(digest(Value::list({1, 2})) != digest(Value::list({2, 1})));
  CHECK(digest(Value("\xff")) != digest(Value("\xfe")));
  CHECK(digest(Value()) != digest(Value("")));
}

TEST_CASE("No text has the digest of an unknown") {
  const Value lookalike = Value::map({{"$unknown", Value::map({{"reason", "r"}, {"producer", "p"}})}});
  CHECK(digest(lookalike) != digest(Value(Value::Unknown{"r", "p"})));
}

TEST_CASE("Base64 encodes and decodes the vectors of RFC 4648") {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    CHECK(base64_encode(plain) == encoded);
    CHECK(base64_decode(encoded) == plain);
  }
}

TEST_CASE("Base64 uses the standard alphabet, not the URL alphabet") {
  CHECK(base64_encode("\xfb\xff\xbf") == "+/+/");
  CHECK_FALSE(base64_decode("-_-_"));
}

TEST_CASE("Base64 with missing, early or too much padding is refused") {
  for (const auto* text : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm=v", "=m9v", "Zm9v====", "Z"}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text));
  }
}

TEST_CASE("Base64 with stray characters is refused") {
  for (const auto* text : {"Zm9v\n", "Zm 9", "Zm9*", "Zg==\n"}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text));
  }
  CHECK_FALSE(base64_decode(std::string_view("Zm9\0", 4)));
}

TEST_CASE("Base64 with bits below the last byte is refused as a second spelling") {
  CHECK(base64_decode("Zg=="));
  CHECK_FALSE(base64_decode("Zh=="));
  CHECK_FALSE(base64_decode("Zm9="));
}

TEST_CASE("Any bytes survive base64") {
  std::mt19937 engine(42);
  for (std::size_t length = 0; length < 200; ++length) {
    std::string bytes;
    for (std::size_t i = 0; i < length; ++i) bytes += static_cast<char>(engine() & 0xFFU);
    REQUIRE(base64_decode(base64_encode(bytes)) == bytes);
  }
}

}  // namespace
}  // namespace sparkplan
