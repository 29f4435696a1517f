#include "engine/resource/resource_type.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

class Named final : public ResourceType {
 public:
  explicit Named(std::string name, std::string section = "things") {
    info_.name = std::move(name), info_.section = std::move(section);
  }
  Desired desired(const ClusterView&, const Value&, const Facts&) const override { return {}; }
  ObservedType observe(const ObserveRequest&, const NodeReader&) const override { return {}; }
  std::vector<Step> steps(const StepsInput&) const override { return {}; }
};

std::vector<std::string> changed(const Value& desired, const Present& present) {
  const Resource resource{{"a", "b"}, desired, {}, {}, Impact::kLive, Reversible::kExact};
  std::vector<std::string> paths;
  for (const FieldChange& field : Named("a").diff(resource, present)) paths.push_back(field.path);
  return paths;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("a diff lists the desired fields that differ, sorted") {
  const Value desired = Value::map({{"mtu", 9000}, {"address", "a"}, {"up", true}});
  const Value present = Value::map({{"up", true}, {"mtu", 1500}, {"address", "b"}});
  CHECK(changed(desired, {present, {}}) == Paths{"address", "mtu"});
}

TEST_CASE("a diff ignores undeclared fields and fields that cannot exist") {
  const Value desired = Value::map({{"persistent", "1"}, {"running", "1"}});
  const Value present = Value::map({{"persistent", "1"}, {"other", "2"}});
  CHECK(changed(desired, {present, {{"running", "an image"}}}).empty());
  CHECK(changed(desired, {present, {}}) == Paths{"running"});
}

TEST_CASE("a diff descends into maps and compares lists as a whole") {
  const Value desired = Value::map({{"a", Value::map({{"x", 1}, {"y", 2}})}, {"b", Value::list({1, 2})}});
  const Value present = Value::map({{"a", Value::map({{"x", 1}, {"y", 3}})}, {"b", Value::list({2, 1})}});
  CHECK(changed(desired, {present, {}}) == Paths{"a.y", "b"});
  CHECK(changed(desired, {Value::map(), {}}) == Paths{"a.x", "a.y", "b"});
  CHECK(changed(desired, {Value::map({{"a", "text"}, {"b", Value::list({1, 2})}}), {}}) == Paths{"a"});
}

TEST_CASE("a diff distinguishes 0, false, empty text and a missing value") {
  const std::vector<Value> odd{Value(0), Value(false), Value(""), Value::list(), Value::map()};
  for (const Value& one : odd) {
    for (const Value& other : odd) {
      const Paths expected = one == other ? Paths{} : Paths{"x"};
      CHECK(changed(Value::map({{"x", one}}), {Value::map({{"x", other}}), {}}) == expected);
    }
    CHECK(changed(Value::map({{"x", one}}), {Value::map(), {}}) == Paths{"x"});
  }
}

TEST_CASE("a diff of values with 100,000 fields takes less than five seconds, in whatever order the fields are") {
  constexpr int kMany = 100'000;
  Value::Map desired;
  Value::Map present;
  for (int i = 0; i < kMany; ++i) {
    desired.push_back({"f" + std::to_string(i), i});
    present.push_back({"f" + std::to_string(kMany - 1 - i), i == 0 ? i : kMany - 1 - i});
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(changed(desired, {present, {}}) == Paths{"f99999"});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("thousands of fields below long keys do not repeat these keys in a diff") {
  Value::Map leaves;
  for (int i = 0; i < 3000; ++i) leaves.push_back({"a" + std::to_string(i), i});
  Value nested(leaves);
  for (int level = 0; level < 13; ++level) nested = Value::map({{std::string(4096, 'k'), std::move(nested)}});
  const Value once = Value::map({{"z", Value::map({{std::string(4'000'000, 'k'), leaves}})}});
  for (const Value& desired : {Value::map({{"z", nested}}), once}) {
    const Paths paths = changed(desired, {Value::map(), {}});
    REQUIRE(paths.size() == 1);
    CHECK(paths.front().starts_with("z.kkkk"));
  }
  CHECK(changed(Value::map({{std::string(256, 'k'), leaves}}), {Value::map(), {}}).size() == leaves.size());
}

TEST_CASE("an unknown always differs") {
  const Value unknown = Value::map({{"key", Value::Unknown{"later", "n"}}});
  CHECK(changed(unknown, {unknown, {}}) == Paths{"key"});
}

TEST_CASE("another node's export is returned, and is unknown until it exists") {
  const Cluster cluster{"lab", "", "", "", {}};
  const Result<NodeName> name = NodeName::parse("spark-02");
  REQUIRE(name);
  const NodeSpec self{*name, 1, "", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  const std::map<std::string, NodeExports> exports{
      {"spark-02", {{"ssh_trust", Value::map({{"nvidia", "ssh-ed25519 AAAA"}, {"root", Value()}})}}}};
  const ClusterView view{cluster, self, exports};
  CHECK(view.export_or_unknown(*name, "ssh_trust", "nvidia") == Value("ssh-ed25519 AAAA"));
  for (const char* key : {"root", "nobody"}) {
    const Value value = view.export_or_unknown(*name, "ssh_trust", key);
    REQUIRE(value.is_unknown());
    CHECK(value.unknown()->producer == std::string("spark-02/ssh_trust/") + key);
  }
  CHECK(view.export_or_unknown(*name, "other", "nvidia").is_unknown());
}

TEST_CASE("a registry finds its types by name and by section, sorted by name") {
  std::vector<std::unique_ptr<const ResourceType>> types;
  for (const char* name : {"mount", "alias", "nvme"}) {
    types.push_back(std::make_unique<Named>(name, std::string(name) == "alias" ? "names" : "storage"));
  }
  const Registry registry(std::move(types));
  REQUIRE(registry.types().size() == 3);
  CHECK(registry.types()[0]->info().name == "alias");
  CHECK(registry.types()[2]->info().name == "nvme");
  REQUIRE(registry.find("mount") != nullptr);
  CHECK(registry.find("mount")->info().name == "mount");
  CHECK(registry.find("moun") == nullptr);
  CHECK(registry.of_section("storage").size() == 2);
  CHECK(registry.of_section("nothing").empty());
}

TEST_CASE("the types of this build are exactly the folders of resources/") {
  for (const char* name : {"hosts", "profile_env", "sysctl"}) CHECK(builtin_registry().find(name) != nullptr);
  CHECK(std::is_sorted(builtin_registry().types().begin(), builtin_registry().types().end(),
                       [](const auto& a, const auto& b) { return a->info().name < b->info().name; }));
}

TEST_CASE("a type with only the required functions accepts all, exports nothing and has no artifacts") {
  const Named type("a");
  test::FakeNode node;
  CHECK(type.validate(Value::map()).empty());
  REQUIRE(type.exports(Value::map(), node));
  CHECK(type.exports(Value::map(), node)->is_null());
  CHECK(std::holds_alternative<Error>(type.read_artifact({"x", "y"}, node)));
  CHECK_FALSE(type.apply({"x", "y"}, Absent{}, node));
}

}  // namespace sparkplan
