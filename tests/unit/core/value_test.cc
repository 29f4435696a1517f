#include "engine/core/value.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

TEST_CASE("Two maps are equal whatever the order of their keys is") {
  const Value a = Value::map({{"mtu", 9000}, {"name", "enp1s0"}});
  const Value b = Value::map({{"name", "enp1s0"}, {"mtu", 9000}});
  CHECK(a == b);
  CHECK(Value::list({a}) == Value::list({b}));
}

TEST_CASE("Maps that differ in one key, one value or in size are not equal") {
  const Value a = Value::map({{"a", 1}, {"b", 2}});
  CHECK_FALSE(a == Value::map({{"a", 1}, {"c", 2}}));
  CHECK_FALSE(a == Value::map({{"a", 1}, {"b", 3}}));
  CHECK_FALSE(a == Value::map({{"a", 1}}));
}

TEST_CASE("The order of a list is significant") {
  CHECK_FALSE(Value::list({1, 2}) == Value::list({2, 1}));
  CHECK(Value::list({1, 2}) == Value::list({1, 2}));
}

TEST_CASE("A comparison never converts between kinds") {
  CHECK_FALSE(Value(1) == Value(1.0));
  CHECK_FALSE(Value(1) == Value("1"));
  CHECK_FALSE(Value(false) == Value(0));
  CHECK_FALSE(Value() == Value(""));
  CHECK_FALSE(Value() == Value::map());
  CHECK_FALSE(Value::map() == Value::list());
}

TEST_CASE("An unknown is not equal to itself") {
  const Value unknown = Value::Unknown{"known later", "spark-02/ssh_trust/nvidia"};
  CHECK_FALSE(unknown == unknown);
  const Value deep = Value::map({{"keys", Value::list({unknown})}});
  CHECK_FALSE(deep == deep);
}

TEST_CASE("Positions do not affect equality") {
  Value a = 9000;
  a.where = {3, 5, 9};
  CHECK(a == Value(9000));
}

TEST_CASE("A later duplicate key replaces the earlier one at its place") {
  const Value value = Value::map({{"a", 1}, {"b", 2}, {"a", 3}});
  CHECK(display(value) == "{a: 3, b: 2}");
}

TEST_CASE("map() keeps the source positions of keys") {
  const Value value = Value::map({{"a", 1, {7, 1, 2}}});
  REQUIRE(value.find_entry("a") != nullptr);
  CHECK(value.find_entry("a")->key_where == SourceRange{7, 1, 2});
}

TEST_CASE("find() searches only one level") {
  const Value value = Value::map({{"a", Value::map({{"b", 1}})}});
  CHECK(value.find("b") == nullptr);
  REQUIRE(value.find("a") != nullptr);
  CHECK(value.find("a")->find("b") != nullptr);
  CHECK(Value(1).find("a") == nullptr);
  CHECK(Value().find("a") == nullptr);
}

TEST_CASE("A getter with a fallback returns only values of its kind") {
  const Value value = Value::map({{"text", "x"}, {"number", 5}, {"flag", true}});
  CHECK(value.text_or("text", "none") == "x");
  CHECK(value.text_or("number", "none") == "none");
  CHECK(value.integer_or("number", 0) == 5);
  CHECK(value.integer_or("flag", 7) == 7);
  CHECK(value.boolean_or("flag", false));
  CHECK_FALSE(value.boolean_or("absent", false));
}

TEST_CASE("set() turns a null into a map, and adds or replaces an entry") {
  Value value;
  value.set("a", 1).set("b", 2).set("a", 3);
  CHECK(value == Value::map({{"a", 3}, {"b", 2}}));
}

TEST_CASE("A setter replaces a value of another kind by a map or a list") {
  const std::vector<Value> kinds{Value(),
                                 true,
                                 7,
                                 2.5,
                                 "text",
                                 Value::list({1}),
                                 Value::map({{"old", 1}}),
                                 Value::Unknown{"later", "spark-02/x/y"}};
  for (const Value& kind : kinds) {
    CAPTURE(kind.kind_name());
    Value map = kind;
    map.set("a", 1);
    CHECK(map == (kind.is_map() ? Value::map({{"old", 1}, {"a", 1}}) : Value::map({{"a", 1}})));
    Value list = kind;
    list.push_back(2);
    CHECK(list == (kind.is_list() ? Value::list({1, 2}) : Value::list({2})));
  }
}

TEST_CASE("A text may be replaced by a map that uses the text as its key") {
  Value value = "a text that is longer than what a std::string holds in place";
  value.set(*value.string(), 1);
  CHECK(value == Value::map({{"a text that is longer than what a std::string holds in place", 1}}));
}

TEST_CASE("push_back() turns a null into a list and appends") {
  Value value;
  value.push_back("a");
  value.push_back("b");
  CHECK(value == Value::list({"a", "b"}));
}

TEST_CASE("erase() returns whether the key existed") {
  Value value = Value::map({{"a", 1}});
  CHECK(value.erase("a"));
  CHECK_FALSE(value.erase("a"));
  CHECK_FALSE(Value(1).erase("a"));
  CHECK(value == Value::map());
}

TEST_CASE("An unknown is found at any depth") {
  const Value unknown = Value::Unknown{"later", ""};
  CHECK(unknown.contains_unknown());
  CHECK(Value::list({1, Value::map({{"k", unknown}})}).contains_unknown());
  CHECK_FALSE(Value::list({1, Value::map({{"k", "unknown"}})}).contains_unknown());
}

TEST_CASE("Every kind has a name for messages") {
  CHECK(Value().kind_name() == "null");
  CHECK(Value(true).kind_name() == "true/false");
  CHECK(Value(1).kind_name() == "integer");
  CHECK(Value(1.5).kind_name() == "number");
  CHECK(Value("").kind_name() == "text");
  CHECK(Value::list().kind_name() == "list");
  CHECK(Value::map().kind_name() == "map");
  CHECK(Value(Value::Unknown{}).kind_name() == "unknown");
}

TEST_CASE("display() writes one readable line") {
  CHECK(display("bare text") == "bare text");
  CHECK(display("") == "\"\"");
  CHECK(display(Value()) == "null");
  CHECK(display(false) == "false");
  CHECK(display(-7) == "-7");
  CHECK(display(21.875) == "21.875");
  CHECK(display(Value::list({1, "b", Value::list()})) == "[1, b, []]");
  CHECK(display(Value::map({{"mtu", 9000}, {"up", true}})) == "{mtu: 9000, up: true}");
}

TEST_CASE("display() shows an unknown as its reason") {
  CHECK(display(Value::Unknown{"known after spark-02 creates its key", "x"}) ==
        "(known after spark-02 creates its key)");
  CHECK(display(Value::Unknown{}) == "(known after apply)");
}

TEST_CASE("display() escapes control characters in texts, keys and reasons") {
  CHECK(display("a\x1b[31m\n") == "a\u241b[31m\u240a");
  CHECK(display(Value::map({{"k\x1b", 1}})) == "{k\u241b: 1}");
  CHECK(display(Value::Unknown{"\x1b", ""}) == "(\u241b)");
}

}  // namespace
}  // namespace sparkplan
