#include "engine/core/shape.h"

#include <limits>
#include <string>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// The error of the check; empty if the value fits.
std::string against(const Shape& shape, const Value& value) {
  const auto checked = check_shape(value, shape);
  if (checked) return "";
  CHECK(checked.error().code == ErrorCode::kInvalidInput);
  return checked.error().describe();
}

const Value kUnknown = Value::Unknown{"known later", "spark-02/ssh_trust/nvidia"};

Value nested_maps(int levels) {
  Value value = 1;
  for (int i = 1; i < levels; ++i) value = Value::list({value});
  return value;
}

}  // namespace

TEST_CASE("a shape accepts only its own kind", "[shape]") {
  const std::vector<Value> kinds{Value(), true, 7, 2.5, "text", Value::list(), Value::map(), kUnknown};
  const std::vector<std::pair<Shape, std::string>> shapes{
      {Shape::boolean(), "true/false"}, {Shape::integer(0, 9), "integer"},        {Shape::text(), "text"},
      {Shape::line(), "text"},          {Shape::list(Shape::text()), "list"},     {Shape::map({}), "map"},
      {Shape::texts(), "list"},         {Shape::map_of(Shape::boolean()), "map"},
  };
  for (const auto& [shape, kind] : shapes) {
    for (const Value& value : kinds) {
      INFO(kind << " and " << value.kind_name());
      const std::string expected =
          value.kind_name() == kind ? "" : "expected " + kind + ", found " + std::string(value.kind_name());
      CHECK(against(shape, value) == expected);
    }
  }
}

TEST_CASE("a mismatch is named by its path", "[shape]") {
  const Shape shape = Shape::map({{"running", Shape::text(), true},
                                  {"ports", Shape::list(Shape::map({{"mtu", Shape::integer(68, 9000)}}))},
                                  {"node.*", Shape::boolean()}});
  CHECK(against(shape, Value::map({{"running", Value::list()}})) == "running: expected text, found list");
  CHECK(against(shape, Value::map()) == "running: missing");
  const auto with_mtu = [](Value mtu) {
    return Value::map(
        {{"running", "x"}, {"ports", Value::list({Value::map(), Value::map({{"mtu", std::move(mtu)}})})}});
  };
  CHECK(against(shape, with_mtu(1500)).empty());
  CHECK(against(shape, with_mtu(67)) == "ports: 1: mtu: out of range: 67");
  CHECK(against(shape, with_mtu(std::numeric_limits<std::int64_t>::min())) ==
        "ports: 1: mtu: out of range: -9223372036854775808");
  CHECK(against(shape, Value::map({{"running", "x"}, {"node.a", 1}})) == "node.a: expected true/false, found integer");
}

TEST_CASE("a path has no control characters and a bounded length", "[shape]") {
  const Shape shape = Shape::map_of(Shape::boolean());
  CHECK(against(shape, Value::map({{"a\x1b[2J\n", 1}})) == "a\u241b[2J\u240a: expected true/false, found integer");
  CHECK(against(shape, Value::map({{std::string(4000, 'a'), 1}})).size() < 200);
  CHECK(against(shape, Value::map({{std::string(5000, 'a'), true}})).size() < 200);
  CHECK_FALSE(against(shape, Value::map({{std::string(5000, 'a'), true}})).empty());
}

TEST_CASE("texts, lines, lists and maps have a maximum size", "[shape]") {
  CHECK(against(Shape::text(3), "abc").empty());
  CHECK(against(Shape::text(3), "abcd") == "4 bytes, more than the limit of 3");
  CHECK(against(Shape::texts(2), Value::list({"a", "b"})).empty());
  CHECK(against(Shape::texts(2), Value::list({"a", "b", "c"})) == "3 items, more than the limit of 2");
  CHECK(against(Shape::map_of(Shape::text(), 1), Value::map({{"a", "x"}, {"b", "x"}})) ==
        "2 entries, more than the limit of 1");
}

TEST_CASE("a map can bound the bytes of its keys", "[shape]") {
  const Shape users = Shape::map_of(Shape::boolean(), 10, 4);
  CHECK(against(users, Value::map({{"four", true}})).empty());
  CHECK(against(users, Value::map({{"fiver", true}})) == "fiver: 5 bytes of a key, more than the limit of 4");
}

TEST_CASE("a line has no control characters, a text may have any byte", "[shape]") {
  for (const std::string& text :
       {std::string("a\nb"), std::string("a\0b", 3), std::string("\x1b"), std::string("\x7f")}) {
    CHECK(against(Shape::line(), text) == "expected one line, found a control character");
    CHECK(against(Shape::text(), text).empty());
  }
  CHECK(against(Shape::line(), "M\u00fcnchen").empty());
}

TEST_CASE("unnamed fields are limited in number and checked against anything()", "[shape]") {
  const Shape shape = Shape::map({{"known", Shape::boolean()}});
  CHECK(against(shape, Value::map({{"newer", Value::list({1, "a", Value::map()})}})).empty());
  CHECK(against(shape, Value::map({{"newer", kUnknown}})) == "newer: expected a known value, found unknown");
  Value many = Value::map();
  for (std::size_t i = 0; i <= Shape::kMostOtherFields; ++i) many.set("other" + std::to_string(i), 1);
  CHECK(against(shape, many) == "65 unknown fields, more than the limit of 64");
}

TEST_CASE("anything() refuses an Unknown at any depth, and limits depth, number and size", "[shape]") {
  const Shape shape = Shape::anything();
  CHECK(against(shape, nested_maps(16)).empty());
  CHECK(against(shape, nested_maps(17)) == "more than 16 levels");
  CHECK(against(shape, Value::map({{"a", Value::list({kUnknown})}})) == "expected a known value, found unknown");
  CHECK(against(shape, Value(Value::List(9'999))).empty());
  CHECK(against(shape, Value(Value::List(10'000))) == "more than 10000 values");
  CHECK(against(shape, std::string(Shape::kMostTextBytes + 1, 'x')) == "too much text");
  CHECK(against(shape, Value::map({{"a", Value::map({{std::string(4096, 'k'), 1}})}})).empty());
  CHECK_FALSE(against(shape, Value::map({{"a", Value::map({{std::string(4097, 'k'), 1}})}})).empty());
}

}  // namespace sparkplan
