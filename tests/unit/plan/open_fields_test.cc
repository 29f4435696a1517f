// Fields that stay as they are because the node that they follow from reports nothing.
#include "engine/plan/open_fields.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Edited = std::map<std::string, std::string>;

Value stays_open(const std::string& reason) { return Value::Unknown{reason, {}}; }

Resource trust_lines(Value first, Value second) {
  Resource resource{{"trust", "user"},
                    Value::map({{"line.n1", std::move(first)}, {"line.n2", std::move(second)}, {"own", "x"}}),
                    {},
                    {}};
  resource.known_part_first = true;
  return resource;
}

Value lines_with(const std::string& first) { return Value::map({{"line.n1", first}, {"line.n2", "b"}, {"own", "x"}}); }

}  // namespace

TEST_CASE("open fields: a field without a value is edited if it is not as it was applied last") {
  const Resource silent = trust_lines(stays_open("n1 is silent"), "b");
  CHECK(edited_open_fields(silent, lines_with("a"), lines_with("a")).empty());
  CHECK(edited_open_fields(silent, lines_with("a, edited"), lines_with("a")) == Edited{{"line.n1", "n1 is silent"}});
  Value removed = lines_with("a");
  removed.erase("line.n1");
  CHECK(edited_open_fields(silent, removed, lines_with("a")).size() == 1);
  CHECK(edited_open_fields(silent, lines_with("a"), removed).size() == 1);
  CHECK(edited_open_fields(silent, removed, removed).empty());
}

TEST_CASE("open fields: a field with a value, one that a node will make, and one of no node are not among them") {
  const Value edited = Value::map({{"line.n1", "c"}, {"line.n2", "c"}, {"own", "c"}});
  CHECK(edited_open_fields(trust_lines("a", "b"), edited, lines_with("a")).empty());
  CHECK(edited_open_fields(trust_lines(Value::Unknown{"known later", "n1/trust/user"}, "b"), edited, lines_with("a"))
            .empty());
  Resource own = trust_lines("a", "b");
  own.desired.set("own", stays_open("nobody knows"));
  CHECK(edited_open_fields(own, edited, lines_with("a")).empty());
}

TEST_CASE("open fields: a resource without any known field or without a last value has none") {
  Resource refused = trust_lines(stays_open("shared"), stays_open("shared"));
  refused.desired.set("own", stays_open("shared"));
  CHECK(edited_open_fields(refused, lines_with("c"), lines_with("a")).empty());
  CHECK(edited_open_fields(trust_lines(stays_open("n1 is silent"), "b"), lines_with("c"), Value()).empty());
  Resource whole = trust_lines(stays_open("n1 is silent"), "b");
  whole.known_part_first = false;
  CHECK(edited_open_fields(whole, lines_with("c"), lines_with("a")).empty());
}

}  // namespace sparkplan
