#include "engine/core/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

// Equality of Values ignores order and refuses unknowns; this function compares the exact trees.
bool identical(const Value& a, const Value& b) {
  if (const auto* unknown = a.unknown()) {
    return b.unknown() != nullptr && unknown->reason == b.unknown()->reason &&
           unknown->producer == b.unknown()->producer;
  }
  if (const auto* items = a.list_items()) {
    const auto* others = b.list_items();
    return others != nullptr && std::equal(items->begin(), items->end(), others->begin(), others->end(), identical);
  }
  if (const auto* map = a.entries()) {
    const auto* others = b.entries();
    return others != nullptr && std::equal(map->begin(), map->end(), others->begin(), others->end(),
                                           [](const MapEntry& x, const MapEntry& y) {
                                             return x.key == y.key && identical(x.value, y.value);
                                           });
  }
  return a == b;
}

class RandomValues {
 public:
  explicit RandomValues(unsigned seed) : engine_(seed) {}

  std::size_t below(std::size_t limit) { return engine_() % limit; }

  std::string text() {
    // Bytes with a special meaning in some step: escapes, quotes, broken and whole UTF-8.
    static const std::vector<std::string> kPieces{
        "$",    "$base64", "$unknown", "a",    "\"", "\\",   "\n",
        "\x01", "\x7f",    "é",        "\xff", "😀",  "\xed", std::string(1, '\0')};
    std::string result;
    for (std::size_t i = below(4); i > 0; --i) result += kPieces[below(kPieces.size())];
    return result;
  }

  Value value(int depth) {
    switch (below(depth > 0 ? 9 : 6)) {
      case 0:
        return {};
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(engine_());
      case 3:
        return std::ldexp(static_cast<double>(engine_()), static_cast<int>(below(1000)) - 500);
      case 4:
        return text();
      case 5:
        return Value::Unknown{"later", "spark-02/x/y"};
      case 6: {
        Value list = Value::list();
        for (std::size_t i = below(4); i > 0; --i) list.push_back(value(depth - 1));
        return list;
      }
      default: {
        Value map = Value::map();
        for (std::size_t i = below(5); i > 0; --i) map.set(text(), value(depth - 1));
        return map;
      }
    }
  }

 private:
  std::mt19937_64 engine_;
};

ErrorCode code_of(const Result<Value>& result) { return result ? ErrorCode::kBug : result.error().code; }

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

TEST_CASE("Any tree of values survives JSON exactly") {
  RandomValues random(20240607);
  for (int i = 0; i < 3000; ++i) {
    const Value value = random.value(4);
    const std::string text = encode_json(value, i % 3 - 1);
    const auto back = decode_json(text);
    INFO(text);
    REQUIRE(back);
    REQUIRE(identical(value, *back));
  }
}

TEST_CASE("JSON on one line has no blanks, and indented JSON has one line per item") {
  const Value value = Value::map({{"a", Value::list({1, 2})}, {"b", Value::map()}});
  CHECK(encode_json(value) == R"({"a":[1,2],"b":{}})");
  CHECK(encode_json(value, 2) == "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

TEST_CASE("JSON keeps the order of keys") {
  const auto value = decode_json(R"({"z":1,"a":2,"m":3})");
  REQUIRE(value);
  CHECK(encode_json(*value) == R"({"z":1,"a":2,"m":3})");
}

TEST_CASE("Integers and floating-point numbers stay distinct") {
  CHECK(encode_json(1) == "1");
  CHECK(encode_json(1.0) == "1.0");
  CHECK(decode_json("1")->integer() != nullptr);
  CHECK(decode_json("1.0")->real() != nullptr);
  CHECK(decode_json("1e2")->real() != nullptr);
}

TEST_CASE("The smallest and the largest integer survive") {
  for (const auto number : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const auto back = decode_json(encode_json(number));
    REQUIRE(back);
    CHECK(*back == Value(number));
  }
}

TEST_CASE("Doubles survive JSON to the last bit") {
  for (const double number :
       {0.1, -0.0, 1e-310, 5e-324, std::numeric_limits<double>::max(), 1e22, 123456789.123456789}) {
    const auto back = decode_json(encode_json(number));
    REQUIRE(back);
    REQUIRE(back->real() != nullptr);
    CHECK(*back->real() == number);
    CHECK(std::signbit(*back->real()) == std::signbit(number));
  }
}

TEST_CASE("Infinities and not-a-number survive JSON") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(*decode_json(encode_json(infinity)) == Value(infinity));
  CHECK(*decode_json(encode_json(-infinity)) == Value(-infinity));
  CHECK(std::isnan(*decode_json(encode_json(std::nan("")))->real()));
  CHECK(public_json(infinity) == "null");
}

TEST_CASE("An integer outside int64 is refused, not rounded") {
  CHECK(code_of(decode_json("9223372036854775808")) == ErrorCode::kInvalidInput);
  CHECK(code_of(decode_json("-9223372036854775809")) == ErrorCode::kInvalidInput);
  CHECK(code_of(decode_json("99999999999999999999999")) == ErrorCode::kInvalidInput);
}

TEST_CASE("A number outside double is refused") { CHECK(code_of(decode_json("1e400")) == ErrorCode::kInvalidInput); }

TEST_CASE("A string that is not UTF-8 is encoded as base64") {
  const std::string bytes = "\xff\xfe key";
  CHECK(encode_json(bytes) == R"({"$base64":")" + base64_encode(bytes) + "\"}");
  CHECK(*decode_json(encode_json(bytes)) == Value(bytes));
}

TEST_CASE("A key that is not UTF-8 is encoded as base64") {
  const Value value = Value::map({{"\xff", 1}, {"$\xff", 2}});
  const auto back = decode_json(encode_json(value));
  REQUIRE(back);
  CHECK(*back == value);
}

TEST_CASE("A key that begins with a dollar gets a second one") {
  CHECK(encode_json(Value::map({{"$base64", "x"}})) == R"({"$$base64":"x"})");
  CHECK(encode_json(Value::map({{"$$a", 1}})) == R"({"$$$a":1})");
  CHECK(*decode_json(R"({"$$a":1})") == Value::map({{"$a", 1}}));
}

TEST_CASE("An unknown survives JSON with its reason and its producer") {
  const auto back = decode_json(encode_json(Value::Unknown{"later", "spark-02/ssh_trust/nvidia"}));
  REQUIRE(back);
  REQUIRE(back->unknown() != nullptr);
  CHECK(back->unknown()->reason == "later");
  CHECK(back->unknown()->producer == "spark-02/ssh_trust/nvidia");
}

TEST_CASE("Markers that the encoder never writes are refused") {
  for (const auto* text : {R"({"$base64":"####"})", R"({"$base64":1})", R"({"$unknown":"x"})", R"({"$other":1})",
                           R"({"$base64":"/w==","a":1})", R"({"$base64:YQ==":1})", R"({"$real":"fast"})"}) {
    INFO(text);
    CHECK(code_of(decode_json(text)) == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("A repeated key is refused at any depth, and named") {
  CHECK(code_of(decode_json(R"({"a":1,"a":1})")) == ErrorCode::kInvalidInput);
  const auto result = decode_json(R"([{"x":{"mtu":1,"mtu":2}}])");
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find("\"mtu\"") != std::string::npos);
}

TEST_CASE("different maps may have the same key") {
  CHECK(decode_json(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})"));
}

TEST_CASE("64 levels of JSON are accepted, and 65 are refused") {
  CHECK(decode_json(nested(64)));
  CHECK(code_of(decode_json(nested(65))) == ErrorCode::kInvalidInput);
}

TEST_CASE("A million brackets are refused without a crash") {
  CHECK(code_of(decode_json(std::string(1'000'000, '['))) == ErrorCode::kInvalidInput);
}

TEST_CASE("Invalid JSON is refused") {
  for (const std::string text :
       {"", " ", "{", "[1,]", "{\"a\"}", "nul", "1 2", "'a'", "\"\xff\"", "{a:1}", "NaN", "01", "\"\n\""}) {
    INFO(text);
    CHECK(code_of(decode_json(text)) == ErrorCode::kInvalidInput);
    CHECK(code_of(parse_plain_json(text)) == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Plain JSON decodes no sparkplan escapes") {
  const auto value = parse_plain_json(R"({"$base64":"YQ==","$schema":"x"})");
  REQUIRE(value);
  CHECK(*value == Value::map({{"$base64", "YQ=="}, {"$schema", "x"}}));
}

TEST_CASE("Public JSON shows an unknown by its reason and replaces broken UTF-8") {
  CHECK(public_json(Value::Unknown{"later", "x"}, -1) == R"({"unknown":"later"})");
  CHECK(public_json("a\xff z", -1) == "\"a\uFFFD z\"");
  CHECK(public_json(Value::map({{"$a", 1}}), -1) == R"({"$a":1})");
}

TEST_CASE("Public JSON of any tree is valid JSON") {
  RandomValues random(7);
  for (int i = 0; i < 500; ++i) {
    // A list at the top: public JSON would turn keys that differ only in broken bytes into one key.
    const Value value = Value::list({random.text(), random.text(), random.value(0)});
    REQUIRE(parse_plain_json(public_json(value)));
  }
}

TEST_CASE("Control characters in strings are escaped") {
  CHECK(encode_json("\x01\x1f\x7f\n\t\"\\") == R"("\u0001\u001f\u007f\n\t\"\\")");
  CHECK(encode_json(std::string(1, '\0')) == R"("\u0000")");
}

TEST_CASE("Control and hidden characters are escaped in public JSON and on the wire") {
  const Value value("a\u0085\u009b\u202e\u200d\ufeffz");
  CHECK(public_json(value, -1) == R"("a\u0085\u009b\u202e\u200d\ufeffz")");
  CHECK(encode_json(value) == R"("a\u0085\u009b\u202e\u200d\ufeffz")");
  CHECK(public_json(Value::map({{"k\u2066", 1}}), -1) == R"({"k\u2066":1})");
}

TEST_CASE("Characters above 16 bits are escaped as a surrogate pair") {
  CHECK(public_json(Value("\U000e0041\U0010ffff\U0001f600"), -1) == "\"\\udb40\\udc41\\udbff\\udfff\U0001f600\"");
}

TEST_CASE("Every escaped text is decoded unchanged") {
  std::string every;
  for (char32_t c = 1; c <= 0x10FFFF; ++c) {
    if (c < 0x300 || is_treacherous(c)) append_utf8(every, c);
  }
  CHECK(decode_json(encode_json(Value(every))) == Value(every));
  CHECK(parse_plain_json(public_json(Value(every))) == Value(every));
  CHECK(printable(public_json(Value(every))) == public_json(Value(every)));
}

TEST_CASE("In short JSON a text takes at most about twice its bytes, and is decoded unchanged") {
  const std::string lines(1000, '\n');
  std::string mixed;
  for (int i = 0; i < 200; ++i) mixed += "\x7f\u202e a";
  for (const std::string& text :
       {std::string(), std::string(63, '\x7f'), std::string(64, '\x7f'), std::string(1000, '\x7f'), lines, mixed,
        std::string(1000, '\xff'), std::string("plain")}) {
    std::string json;
    encode_short_json(Value(text), -1, [&](std::string_view piece) { json += piece; });
    CHECK(decode_json(json) == Value(text));
    CHECK(canonical_json(*decode_json(json)) == canonical_json(Value(text)));
    if (text.size() >= 1000) CHECK(json.size() < 2 * text.size() + 100);
    if (text == lines || text == "plain") CHECK(json == encode_json(Value(text)));
  }
}

TEST_CASE("The escapes of canonical JSON never change, because nodes store digests of its bytes") {
  CHECK(canonical_json(Value("a\u0085\u202e\u200d\U000e0041\x1b\x7f")) ==
        "\"a\u0085\u202e\u200d\U000e0041\\u001b\\u007f\"");
}

TEST_CASE("Canonical JSON does not depend on the order of keys at any depth") {
  const Value a = Value::map({{"b", Value::map({{"y", 1}, {"x", 2}})}, {"a", Value::list({1})}});
  const Value b = Value::map({{"a", Value::list({1})}, {"b", Value::map({{"x", 2}, {"y", 1}})}});
  CHECK(canonical_json(a) == R"({"a":[1],"b":{"x":2,"y":1}})");
  CHECK(canonical_json(a) == canonical_json(b));
}

TEST_CASE("Positive and negative zero have the same canonical form") {
  REQUIRE(Value(0.0) == Value(-0.0));
  CHECK(canonical_json(0.0) == canonical_json(-0.0));
}

TEST_CASE("Escapes of every kind are decoded, and incomplete ones are refused") {
  CHECK(*decode_json(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00")") ==
        Value("\"\\/\b\f\n\r\tA\u00e9\u20ac\U0001F600"));
  CHECK(*decode_json(R"("a\u0000b")") == Value(std::string("a\0b", 3)));
  for (const std::string text : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud83d")", R"("\ud83dx")",
                                 R"("\ud83d\u0041")", R"("\ude00")", "\"\\", "\"\\\"", R"("\u)"}) {
    INFO(text);
    CHECK(code_of(decode_json(text)) == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Only numbers in JSON's own form are accepted") {
  CHECK(*decode_json("-0") == Value(0));
  CHECK(*decode_json(" [ -1 , 2.5e-1,1E2 ] ") == Value::list({-1, 0.25, 100.0}));
  CHECK(*decode_json("1e-400")->real() == 0.0);
  for (const std::string text : {"-", "+1", ".5", "1.", "1e", "1e+", "0x1", "1_0", "--1", "Infinity"}) {
    INFO(text);
    CHECK(code_of(decode_json(text)) == ErrorCode::kInvalidInput);
  }
  CHECK(decode_json("0." + std::string(900, '3')));
  CHECK(code_of(decode_json("0." + std::string(1000, '3'))) == ErrorCode::kInvalidInput);
}

TEST_CASE("A NUL, a stray comma and a missing bracket are refused at their position") {
  for (const std::string& text :
       {std::string("1\0", 2), std::string("\0", 1), std::string("[1,,2]"), std::string("[1 2]"),
        std::string("{\"a\" 1}"), std::string("{\"a\":1,}"), std::string("[1}"), std::string("{]"), std::string("]"),
        std::string("[1"), std::string("{\"a\":"), std::string("tru")}) {
    INFO(text);
    const auto result = decode_json(text);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::kInvalidInput);
    CHECK(result.error().message.size() < 300);
  }
  CHECK(decode_json("[1,x]").error().message == "invalid JSON: byte 4 is \"x\"");
}

TEST_CASE("A budget of values is enforced exactly") {
  // The text, and a weight for each of the list and its three items.
  const std::string text = "[1,2,3]";
  CHECK(decode_json(text, JsonLimits{text.size() + 4 * kJsonValueWeight}));
  CHECK(code_of(decode_json(text, JsonLimits{text.size() + 4 * kJsonValueWeight - 1})) == ErrorCode::kInvalidInput);
  CHECK(json_weight(*decode_json(text)) == 4 * kJsonValueWeight);
}

TEST_CASE("A long name is shortened in an error") {
  const std::string key(1 << 20, 'k');
  const auto twice = decode_json("{\"" + key + "\":1,\"" + key + "\":2}");
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message.size() < 200);
}

}  // namespace
}  // namespace sparkplan
