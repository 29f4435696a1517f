#include "engine/core/keyed_digest.h"

#include <string>

#include "tests/support/catch.h"

namespace sparkplan {

// Source: RFC 4231, test cases 1, 2, 3 and 6.
TEST_CASE("keyed digest: the published test vectors of HMAC-SHA-256") {
  CHECK(keyed_digest(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(keyed_digest("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(keyed_digest(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  CHECK(keyed_digest(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("keyed digest: a token depends on the key and on the value") {
  const auto token = secret_token("key", "value");
  CHECK(token == secret_token("key", "value"));
  CHECK(token != secret_token("other", "value"));
  CHECK(token != secret_token("key", "values"));
  CHECK(token != kUnreadSecret);
}

TEST_CASE("keyed digest: only whole tokens are taken for tokens") {
  const auto token = secret_token("key", "value");
  CHECK(is_secret_token(token));
  CHECK(is_secret_token(kUnreadSecret));
  CHECK_FALSE(is_secret_token(token + "0"));
  CHECK_FALSE(is_secret_token(token.substr(0, token.size() - 1)));
  CHECK_FALSE(is_secret_token("x" + token));
  CHECK_FALSE(is_secret_token(""));
}

TEST_CASE("keyed digest: a value is shown without its tokens, wherever they are") {
  const auto token = secret_token("key", "value");
  const Value value = Value::map({{"a", token}, {"b", Value::list({Value("clear"), Value(token)})}});
  CHECK(holds_secret(value));
  CHECK(without_secrets(value, "file x") ==
        Value::map({{"a", "(secret: file x)"}, {"b", Value::list({Value("clear"), Value("(secret: file x)")})}}));
  CHECK(display(value).find("sparkplan-secret") == std::string::npos);
  CHECK(display(Value(token)) == "(secret)");
}

}  // namespace sparkplan
