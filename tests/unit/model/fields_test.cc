// One description of a struct gives its encoding, its strict decoding and its documentation.
#include "engine/model/fields.h"

#include <array>

#include "engine/core/ids.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {

enum class Color : std::uint8_t { kRed, kGreen };
std::span<const std::string_view> names_of(Color /*color*/) {
  static constexpr std::array<std::string_view, 2> kNames{"red", "green"};
  return kNames;
}

struct Circle {
  static constexpr std::string_view kName = "circle";
  std::int64_t radius = 1;
};
struct Point {
  static constexpr std::string_view kName = "point";
};
using Shape = std::variant<Circle, Point>;

struct Leaf {
  std::string name;
  int size = 3;
};

struct Sample {
  std::string text;
  bool flag = false;
  std::uint16_t port = 22;
  double ratio = 0.5;
  Color color = Color::kGreen;
  ArtifactId artifact{"file", "/etc/a"};
  Value any;
  std::optional<int> maybe;
  std::optional<int> null_or_number;
  std::vector<Leaf> leaves;
  std::vector<bool> flags;
  std::map<ResourceId, std::vector<std::string>> names;
  std::map<std::string, std::optional<int>> sizes;
  std::string bytes;
  std::int64_t percent = 50;
  std::string note = "default";
};

void list_fields(FieldVisitor& field, Circle& circle) { field("radius", circle.radius, kRequired.within(1, 9)); }
void list_fields(FieldVisitor& /*field*/, Point& /*point*/) {}
void list_fields(FieldVisitor& field, Shape& shape) {
  field.tagged("shape", shape, kNamesOf<Shape>, [&](auto& one) { list_fields(field, one); });
}
void list_fields(FieldVisitor& field, Leaf& leaf) {
  field("name", leaf.name, kRequired);
  field("size", leaf.size);
}
void list_fields(FieldVisitor& field, Sample& sample) {
  field("text", sample.text, kOptional.no_longer_than(8));
  field("flag", sample.flag);
  field("port", sample.port);
  field("ratio", sample.ratio);
  field("color", sample.color);
  field("artifact", sample.artifact);
  field("any", sample.any);
  field("maybe", sample.maybe);
  field("null_or_number", sample.null_or_number, kNullForNone);
  field("leaves", sample.leaves, kOptional.at_most(2));
  field("flags", sample.flags, kOptional.at_most(8));
  field("names", sample.names, kOptional.at_most(3));
  field("sizes", sample.sizes, kOptional.at_most(2));
  field.base64("bytes", sample.bytes);
  field("percent", sample.percent, kOptional.within(0, 100));
  field.check("percent", sample.percent != 13, "expected a lucky number");
  field("note", sample.note, kOptional.cut_at(12).unless(sample.note == "default"));
}

namespace {

Sample some_sample() {
  Sample sample;
  sample.text = "hello";
  sample.flag = true;
  sample.color = Color::kRed;
  sample.any = Value::list({1, "x"});
  sample.maybe = 7;
  sample.leaves = {{"a", 1}, {"b", 2}};
  sample.flags = {true, false};
  sample.names = {{{"hosts", "b/c"}, {"x", "y"}}};
  sample.sizes = {{"none", std::nullopt}, {"one", 1}};
  sample.bytes = std::string("\0\xff", 2);
  return sample;
}

}  // namespace

TEST_CASE("fields: keys are encoded in the order of the description, without absent and default values") {
  CHECK(encode_json(encode(some_sample())) ==
        R"({"text":"hello","flag":true,"port":22,"ratio":0.5,"color":"red","artifact":"file:/etc/a","any":[1,"x"],)"
        R"("maybe":7,"null_or_number":null,"leaves":[{"name":"a","size":1},{"name":"b","size":2}],)"
        R"("flags":[true,false],"names":{"hosts/b/c":["x","y"]},"sizes":{"none":null,"one":1},"bytes":"AP8=",)"
        R"("percent":50})");
}

TEST_CASE("fields: an encoded struct is decoded completely") {
  const Value written = over_the_wire(encode(some_sample()));
  const auto back = decode<Sample>(written);
  REQUIRE(back);
  CHECK(encode(*back) == written);
  CHECK(back->bytes == some_sample().bytes);
  CHECK(back->flags == some_sample().flags);
  CHECK_FALSE(back->sizes.at("none"));
  CHECK(decode<std::optional<Sample>>(Value())->has_value() == false);
}

TEST_CASE("fields: absent fields keep their defaults, and unknown fields are ignored") {
  const auto back = decode<Sample>(Value::map({{"extra", 1}}));
  REQUIRE(back);
  CHECK(back->port == 22);
  CHECK(back->note == "default");
  CHECK(back->color == Color::kGreen);
}

TEST_CASE("fields: each kind refuses all other kinds, by name") {
  const std::vector<std::pair<std::string, std::string>> kinds{
      {"text", "expected text, found list"},     {"flag", "expected true/false, found list"},
      {"port", "expected integer, found list"},  {"ratio", "expected number, found list"},
      {"color", "expected text, found list"},    {"artifact", "expected text, found list"},
      {"maybe", "expected integer, found list"}, {"names", "expected map, found list"},
      {"bytes", "expected text, found list"},
  };
  for (const auto& [key, why] : kinds) {
    INFO(key);
    check_refused(decode<Sample>(Value::map({{key, Value::list()}})), key + ": " + why);
  }
  check_refused(decode<Sample>(Value::map({{"leaves", 1}})), "leaves: expected list, found integer");
  check_refused(decode<Sample>(Value(1)), "expected map, found integer");
}

TEST_CASE("fields: each limit is enforced, and the path names the place") {
  const auto refused = [](std::string_view key, Value value) {
    const auto decoded = decode<Sample>(Value::map({{std::string(key), std::move(value)}}));
    return decoded ? "" : decoded.error().describe();
  };
  const Value leaf = Value::map({{"name", "a"}});
  CHECK(refused("text", "123456789") == "text: longer than 8 bytes");
  CHECK(refused("port", 65'536) == "port: out of range: 65536");
  CHECK(refused("port", -1) == "port: out of range: -1");
  CHECK(refused("percent", 101) == "percent: out of range: 101");
  CHECK(refused("percent", 13) == "percent: expected a lucky number");
  CHECK(refused("color", "blue\n") == "color: no such color: \"blue␊\"");
  CHECK_FALSE(refused("artifact", "nocolon").empty());
  CHECK_FALSE(refused("names", Value::map({{"noslash", Value::list()}})).empty());
  CHECK(refused("leaves", Value::list({leaf, leaf, leaf})) == "leaves: more than 2");
  CHECK(refused("sizes", Value::map({{"a", 1}, {"b", 1}, {"c", 1}})) == "sizes: more than 2");
  CHECK(refused("leaves", Value::list({leaf, Value::map({{"size", 1}})})) == "leaves: 1: name: missing");
  CHECK(refused("names", Value::map({{"a/b", Value::list({1})}})) == "names: a/b: 0: expected text, found integer");
  CHECK(refused("bytes", "*") == "bytes: expected base64");
  CHECK(decode<Sample>(Value::map({{"note", "far too long a note"}}))->note == "far too  ...");
}

/// True if a description with this rule compiles.
template <class Field, class Rule>
concept Describes = requires(FieldVisitor& field, Field& value, Rule rule) {
  field("key", value, rule);
};
template <class Field>
concept DescribesWithoutRule = requires(FieldVisitor& field, Field& value) {
  field("key", value);
};

TEST_CASE("fields: a list or map without a bound does not compile") {
  using Names = std::vector<std::string>;
  using Sizes = std::map<std::string, int>;
  STATIC_REQUIRE_FALSE(DescribesWithoutRule<Names>);
  STATIC_REQUIRE_FALSE(DescribesWithoutRule<Sizes>);
  STATIC_REQUIRE_FALSE(DescribesWithoutRule<std::optional<Names>>);
  STATIC_REQUIRE_FALSE(Describes<Names, FieldRule>);
  STATIC_REQUIRE_FALSE(Describes<Sizes, FieldRule>);
  STATIC_REQUIRE(Describes<Names, ListRule>);
  STATIC_REQUIRE(Describes<Sizes, ListRule>);
  STATIC_REQUIRE(DescribesWithoutRule<std::string>);
  STATIC_REQUIRE(DescribesWithoutRule<std::optional<int>>);
  STATIC_REQUIRE(DescribesWithoutRule<Leaf>);
}

TEST_CASE("fields: the bound of a list also holds for the lists in it, and each text and key has one") {
  const auto refused = [](std::string_view key, Value value) {
    const auto decoded = decode<Sample>(Value::map({{std::string(key), std::move(value)}}));
    return decoded ? "" : decoded.error().describe();
  };
  const std::string long_text(FieldRule::kLongestText + 1, 'x');
  CHECK(refused("names", Value::map({{"a/b", Value::list({"1", "2", "3", "4"})}})) == "names: a/b: more than 3");
  CHECK(refused("names", Value::map({{"a/b", Value::list({long_text})}})) == "names: a/b: 0: longer than 8192 bytes");
  CHECK(refused("sizes", Value::map({{long_text, 1}})) == "sizes: a key is longer than 8192 bytes");
  CHECK(refused("artifact", "file:/" + long_text) == "artifact: longer than 8192 bytes");
}

TEST_CASE("fields: the first error is kept") {
  check_refused(decode<Sample>(Value::map({{"percent", -1}, {"port", "x"}})), "port: expected integer, found text");
}

TEST_CASE("fields: a variant is tagged with its alternative's name") {
  CHECK(encode_json(encode(Shape(Circle{5}))) == R"({"shape":"circle","radius":5})");
  const auto back = decode<Shape>(Value::map({{"shape", "point"}}));
  REQUIRE(back);
  CHECK(std::holds_alternative<Point>(*back));
  check_refused(decode<Shape>(Value::map({{"shape", "circle"}})), "radius: missing");
  check_refused(decode<Shape>(Value::map({{"shape", "star"}})), "shape: no such shape: \"star\"");
  check_refused(decode<Shape>(Value::map()), "shape: missing");
}

TEST_CASE("fields: a strict reader refuses unknown fields at the top level only") {
  const Value value = Value::map({{"leaves", Value::list({Value::map({{"name", "a"}, {"inner", 1}})})}});
  const auto unknown = [](const Value& message) {
    FieldReader reader(message);
    Sample sample;
    reader.visit(sample, kOptional);
    REQUIRE(reader.result());
    return reader.refuse_unknown("a sample");
  };
  CHECK(unknown(value));
  const auto refused = unknown(Value(value).set("outer\n", 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "a sample has no field outer␊");
}

TEST_CASE("fields: decoding any value returns a stable result") {
  std::mt19937 engine(19);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Value value = encode(some_sample());
    corrupt(value, engine);
    const auto back = decode<Sample>(value);
    refused += back ? 0 : 1;
    if (back) REQUIRE(canonical(*decode<Sample>(encode(*back))) == canonical(*back));
  }
  CHECK(refused > 500);
}

TEST_CASE("enumerators are converted to their names and back") {
  CHECK(to_string(Color::kGreen) == "green");
  CHECK(value_named<Color>("red") == Color::kRed);
  CHECK_FALSE(value_named<Color>("blue"));
}

}  // namespace sparkplan
