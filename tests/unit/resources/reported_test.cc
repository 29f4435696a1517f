// Reports from a node, checked against the shapes of the types. Honest reports fit. A report that does not fit is
// refused and does not end the program.
#include "engine/resource/reported.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/json.h"
#include "engine/plan/planner.h"
#include "tests/support/case_folder.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

using Names = std::map<std::string, std::vector<std::string>>;

const NodeSpec& self_in(const World& world) {
  return *std::find_if(world.cluster.nodes.begin(), world.cluster.nodes.end(),
                       [&](const NodeSpec& node) { return node.name.str() == world.self; });
}

/// The exports of the case's own node to all others.
NodeExports exports_in(const World& world) {
  NodeExports exports;
  const NodeSpec& self = self_in(world);
  for (const auto& type : builtin_registry().types()) {
    const auto section = self.sections.find(type->info().section);
    auto value = type->exports(section == self.sections.end() ? Value() : section->second, world.node);
    if (value && !value->is_null()) exports[type->info().name] = *std::move(value);
  }
  return exports;
}

const Manifest* manifest_of(const World& world) { return world.applied ? &world.manifest : nullptr; }

Names asked_in(const World& world, const Look& look) { return names_to_observe(look.desired, manifest_of(world)); }

std::set<std::string> all_types() {
  std::set<std::string> names;
  for (const auto& type : builtin_registry().types()) names.insert(type->info().name);
  return names;
}

struct OpenCase {
  CaseFolder folder;
  World world;
  Look look;
};

std::vector<OpenCase> open_all_cases() {
  std::vector<OpenCase> cases;
  for (const CaseFolder& folder : all_cases(builtin_registry())) {
    Result<World> world = open_case(folder, builtin_registry());
    INFO(folder.title());
    if (!world) FAIL(world.error().describe());
    Look look = look_at(*world, builtin_registry());
    cases.push_back({folder, *std::move(world), std::move(look)});
  }
  return cases;
}

/// Values that no type expects.
const std::vector<Value>& hostile_values() {
  static const std::vector<Value> kValues = [] {
    Value deep = 1;
    for (int i = 0; i < 60; ++i) deep = Value::list({deep});
    Value deep_map = "x";
    for (int i = 0; i < 60; ++i) deep_map = Value::map({{"persistent", deep_map}});
    return std::vector<Value>{Value(),
                              true,
                              std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max(),
                              std::numeric_limits<double>::quiet_NaN(),
                              "",
                              std::string("a\0b\nc\x1b[2J\x9b\xc2\x85\r", 15),
                              std::string(100'000, 'x'),
                              Value::list(),
                              Value::list({1, Value::map(), Value::list({"x"})}),
                              Value::map(),
                              Value::map({{"", ""}, {"state", 7}, {"content", Value::list()}}),
                              deep,
                              deep_map,
                              Value::Unknown{"for ever", "spark-02/ssh_trust/nvidia"}};
  }();
  return kValues;
}

/// Calls `look` with copies of `whole`. In each copy one value is replaced by `by`, the whole value included.
void with_each_replaced(const Value& whole, const Value& by,
                        const std::function<void(const Value&, const std::string&)>& look,
                        const std::string& path = "") {
  look(by, path);
  if (const auto* entries = whole.entries()) {
    for (std::size_t i = 0; i < entries->size(); ++i) {
      with_each_replaced((*entries)[i].value, by,
                         [&](const Value& part, const std::string& at) {
                           Value changed = whole;
                           (*changed.entries())[i].value = part;
                           look(changed, at);
                         },
                         path + "/" + (*entries)[i].key);
    }
  }
  if (const auto* items = whole.list_items(); items != nullptr && !items->empty()) {
    with_each_replaced(
        items->front(), by,
        [&](const Value& part, const std::string& at) {
          Value changed = whole;
          changed.list_items()->front() = part;
          look(changed, at);
        },
        path + "/0");
  }
}

/// True the first few times for each place, because every case repeats the places.
class FewTimes {
 public:
  bool operator()(const std::string& place) { return ++seen_[place] <= kTimes; }

 private:
  static constexpr int kTimes = 2;
  std::map<std::string, int> seen_;
};

NodePlan plan_of(const World& world, const Look& look, const ObservedState& observed, const Manifest* manifest) {
  NodePlanInput input;
  input.desired = look.desired;
  input.observed = &observed;
  input.manifest = manifest;
  input.incomplete_types = look.incomplete_types;
  NodePlan plan = plan_node(input, builtin_registry());
  static_cast<void>(refusal(plan, world.facts, builtin_registry()));
  return plan;
}

/// Every Present of an observed type, for changing.
std::vector<std::pair<std::string, Value*>> values_in(const std::string& type, ObservedType& found) {
  std::vector<std::pair<std::string, Value*>> values;
  for (auto& [name, observation] : found.resources)
    if (auto* present = std::get_if<Present>(&observation)) values.emplace_back(type + " resource", &present->value);
  for (auto& [id, observation] : found.artifacts)
    if (auto* present = std::get_if<Present>(&observation)) values.emplace_back(type + " " + id.kind, &present->value);
  return values;
}

std::string complaint_about(const World& world, const Look& look, ObservedState observed) {
  const auto checked = check_observed(asked_in(world, look), builtin_registry(), observed);
  return checked ? "" : checked.error().describe();
}

}  // namespace

TEST_CASE("every type defines the shape of its reports", "[reported]") {
  const auto cases = open_all_cases();
  for (const auto& type : builtin_registry().types()) {
    INFO(type->info().name);
    CHECK_FALSE(type->info().reported.resource.is_anything());
  }
  std::set<std::string> exporting;
  for (const OpenCase& one : cases)
    for (const auto& [type, value] : exports_in(one.world)) exporting.insert(type);
  for (const std::string& type : exporting) {
    INFO(type);
    CHECK(builtin_registry().find(type)->info().reported.exported);
  }
}

TEST_CASE("the reports of all cases match their shapes and stay unchanged", "[reported]") {
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    ObservedState observed = one.look.observed;
    const auto checked = check_observed(asked_in(one.world, one.look), builtin_registry(), observed);
    CHECK((checked ? "" : checked.error().describe()) == "");
    CHECK(encode_json(encode(observed)) == encode_json(encode(one.look.observed)));
    const auto manifest = check_manifest(one.world.manifest, builtin_registry());
    CHECK((manifest ? "" : manifest.error().describe()) == "");
    auto exports = exports_in(one.world);
    const auto exported = check_exports(all_types(), builtin_registry(), exports);
    CHECK((exported ? "" : exported.error().describe()) == "");
    CHECK(exports.size() == exports_in(one.world).size());
    const auto steps = check_steps(one.look.plan.steps, builtin_registry());
    CHECK((steps ? "" : steps.error().describe()) == "");
    for (const auto& [id, value] : one.look.plan.after_steps) {
      const auto managed = value.is_null() ? Result<void>() : check_managed(id, value, builtin_registry());
      CHECK((managed ? "" : managed.error().describe()) == "");
    }
  }
}

TEST_CASE("no reported value at any place of an observation ends the planner", "[reported]") {
  FewTimes few;
  int refused = 0;
  int planned = 0;
  for (const OpenCase& one : open_all_cases()) {
    ObservedState observed = one.look.observed;
    for (auto& [type, found] : observed.types) {
      for (auto& [kind, place] : values_in(type, found)) {
        const Value whole = *place;
        for (std::size_t i = 0; i < hostile_values().size(); ++i) {
          with_each_replaced(whole, hostile_values()[i], [&](const Value& changed, const std::string& path) {
            if (!few(kind + path + " " + std::to_string(i))) return;
            INFO(one.folder.title() << ": " << kind << path << " is hostile value " << i);
            *place = changed;
            // Without the check the planner must accept the value without a crash. With the check, it must also not
            // wait for ever.
            static_cast<void>(plan_of(one.world, one.look, observed, manifest_of(one.world)));
            ++planned;
            if (changed.contains_unknown()) CHECK_FALSE(complaint_about(one.world, one.look, observed).empty());
            if (complaint_about(one.world, one.look, observed).empty()) return;
            ++refused;
            CHECK(complaint_about(one.world, one.look, observed).find(type) != std::string::npos);
          });
          *place = whole;
        }
      }
    }
  }
  CHECK(planned > 1000);
  CHECK(refused > planned / 2);
}

TEST_CASE("no value at any place of a node's manifest ends the planner or section_from()", "[reported]") {
  FewTimes few;
  int planned = 0;
  for (const OpenCase& one : open_all_cases()) {
    Manifest manifest = one.world.manifest;
    for (const Resource& resource : one.look.desired) {
      if (!resource.desired.contains_unknown()) manifest.resources[resource.id].last_applied = resource.desired;
    }
    const ClusterView view{one.world.cluster, self_in(one.world), one.world.exports};
    const auto look = [&](const std::string& place, const std::string& type, bool unknown) {
      if (!few(place)) return;
      INFO(one.folder.title() << ": " << place);
      NodePlan plan = plan_of(one.world, one.look, one.look.observed, &manifest);
      std::map<std::string, Value> applied;
      for (const auto& [id, managed] : manifest.resources)
        if (id.type == type) applied[id.name] = managed.last_applied;
      static_cast<void>(builtin_registry().find(type)->section_from(view, applied, one.world.facts));
      ++planned;
      if (unknown) CHECK_FALSE(check_manifest(manifest, builtin_registry()));
    };
    for (auto& [id, managed] : manifest.resources) {
      const Value whole = managed.last_applied;
      for (std::size_t i = 0; i < hostile_values().size(); ++i) {
        with_each_replaced(whole, hostile_values()[i], [&](const Value& changed, const std::string& path) {
          managed.last_applied = changed;
          look(id.type + " last applied" + path + " " + std::to_string(i), id.type, changed.contains_unknown());
        });
      }
      managed.last_applied = whole;
    }
    for (auto& [id, artifact] : manifest.artifacts) {
      auto* present = std::get_if<Present>(&artifact.original);
      if (present == nullptr) continue;
      const Value whole = present->value;
      for (std::size_t i = 0; i < hostile_values().size(); ++i) {
        with_each_replaced(whole, hostile_values()[i], [&](const Value& changed, const std::string& path) {
          present->value = changed;
          look(id.kind + " original" + path + " " + std::to_string(i), artifact.type, changed.contains_unknown());
        });
      }
      present->value = whole;
    }
  }
  CHECK(planned > 500);
}

TEST_CASE("no value at any place of a node's exports ends the planning of other nodes", "[reported]") {
  FewTimes few;
  int compiled = 0;
  for (const OpenCase& one : open_all_cases()) {
    std::map<std::string, NodeExports> exports = one.world.exports;
    exports[one.world.self] = exports_in(one.world);
    const NodeSpec& self = self_in(one.world);
    for (auto& [node, of_node] : exports) {
      for (auto& [type, value] : of_node) {
        const Value whole = value;
        for (std::size_t i = 0; i < hostile_values().size(); ++i) {
          with_each_replaced(whole, hostile_values()[i], [&](const Value& changed, const std::string& path) {
            if (!few(type + path + " " + std::to_string(i))) return;
            INFO(one.folder.title() << ": " << node << " exports " << type << path << ", hostile value " << i);
            value = changed;
            for (const auto& [key, section] : self.sections) {
              for (const ResourceType* other : builtin_registry().of_section(key))
                static_cast<void>(other->desired({one.world.cluster, self, exports}, section, one.world.facts));
            }
            ++compiled;
            NodeExports reported{{type, changed}};
            const auto checked = check_exports(all_types(), builtin_registry(), reported);
            if (changed.contains_unknown()) CHECK_FALSE(checked);
          });
        }
        value = whole;
      }
    }
  }
  CHECK(compiled > 200);
}

TEST_CASE("unrequested parts of a report are removed", "[reported]") {
  const Observation there = Present{Value::map({{"persistent", "1"}, {"running", "1"}}), {}};
  ObservedState observed;
  observed.types["sysctl"].resources = {{"vm.swappiness", there}, {"vm.never-asked", there}};
  observed.types["sysctl"].foreign = {{{"sysctl", "vm.swappiness"}, "persistent", "7", "a:1", "wins"},
                                      {{"sysctl", "vm.never-asked"}, "persistent", "7", "a:2", "wins"},
                                      {{"hosts", "vm.swappiness"}, "address", "7", "a:3", "wins"}};
  observed.types["hosts"].resources = {{"spark-01-fabric", there}};
  observed.types["no-such-type"].resources = {{"x", there}};
  const Names asked{{"sysctl", {"vm.swappiness"}}, {"no-such-type", {"x"}}};
  REQUIRE(check_observed(asked, builtin_registry(), observed));
  REQUIRE(observed.types.size() == 1);
  CHECK(observed.types.at("sysctl").resources.size() == 1);
  REQUIRE(observed.types.at("sysctl").foreign.size() == 1);
  CHECK(observed.types.at("sysctl").foreign.at(0).source == "a:1");
}

TEST_CASE("a claim that a node repeats counts once", "[reported]") {
  const ForeignClaim claim{{"sysctl", "vm.swappiness"}, "persistent", "7", "a:1", "wins"};
  ForeignClaim other_value = claim;
  other_value.value = "8";
  ForeignClaim other_source = claim;
  other_source.source = "a:2";
  ObservedState observed;
  observed.types["sysctl"].foreign = {claim, other_value, claim, other_source, claim, claim};
  REQUIRE(check_observed({{"sysctl", {"vm.swappiness"}}}, builtin_registry(), observed));
  const auto& left = observed.types.at("sysctl").foreign;
  REQUIRE(left.size() == 3);
  CHECK(left[0].value == claim.value);
  CHECK(left[1].value == other_value.value);
  CHECK(left[2].source == other_source.source);
}

TEST_CASE("of thousands of claims on a resource the first twenty are kept, and those on others", "[reported]") {
  ObservedState observed;
  auto& claims = observed.types["sysctl"].foreign;
  for (int i = 0; i < 2000; ++i) {
    claims.push_back({{"sysctl", "vm.swappiness"}, "persistent", "7", "a:" + std::to_string(i), "wins"});
  }
  claims.push_back({{"sysctl", "vm.dirty_ratio"}, "persistent", "7", "a:1", "wins"});
  REQUIRE(check_observed({{"sysctl", {"vm.swappiness", "vm.dirty_ratio"}}}, builtin_registry(), observed));
  const auto& left = observed.types.at("sysctl").foreign;
  REQUIRE(left.size() == 21);
  CHECK(left.back().id.name == "vm.dirty_ratio");
}

TEST_CASE("an observation of another shape is refused with its path", "[reported]") {
  const auto refused = [](const std::string& type, const std::string& name, Value value) {
    ObservedState observed;
    observed.types[type].resources[name] = Present{std::move(value), {}};
    const auto checked = check_observed({{type, {name}}}, builtin_registry(), observed);
    return checked ? "" : checked.error().describe();
  };
  CHECK(refused("sysctl", "net.core.somaxconn", Value::map({{"running", Value::list()}})) ==
        "observed sysctl net.core.somaxconn: running: expected text, found list");
  CHECK(refused("sysctl", "vm.swappiness", "60") == "observed sysctl vm.swappiness: expected map, found text");
  CHECK(refused("netplan", "enp1s0", Value::map({{"mtu", std::int64_t{1} << 40}})) ==
        "observed netplan enp1s0: mtu: out of range: 1099511627776");
  CHECK(refused("package", "nvme-cli", Value::map({{"needs", Value::list({7})}})) ==
        "observed package nvme-cli: needs: 0: expected text, found integer");
}

TEST_CASE("an artifact must be a file, a block or a kind of the reporting type", "[reported]") {
  const auto refused = [](const std::string& type, const ArtifactId& id, Value value) {
    const auto checked = check_artifact(id, Present{std::move(value), {}}, *builtin_registry().find(type));
    return checked ? "" : checked.error().describe();
  };
  const Value file = Value::map({{"content", "x"}, {"mode", "0644"}, {"uid", 0}, {"gid", 0}});
  CHECK(refused("sysctl", {"file", "/etc/sysctl.d/90-sparkplan.conf"}, file).empty());
  CHECK(refused("sysctl", {"kernel_parameter", "vm/swappiness"}, Value::map({{"value", "1"}})).empty());
  CHECK(refused("sysctl", {"ssh_key", "~nvidia/.ssh/id"}, Value::map()) ==
        "artifact ssh_key:~nvidia/.ssh/id of sysctl: no artifact of this type");
  CHECK(refused("sysctl", {"file", "/etc/x"}, Value::map({{"content", 1}})) ==
        "artifact file:/etc/x of sysctl: content: expected text, found integer");
  CHECK(refused("sysctl", {"file", "/etc/a\nb"}, file).find("control character") != std::string::npos);
}

TEST_CASE("the number of a node's reported resources per type is limited", "[reported]") {
  ObservedState observed;
  auto& artifacts = observed.types["sysctl"].artifacts;
  const std::size_t most = builtin_registry().find("sysctl")->info().reported.most;
  for (std::size_t i = 0; i <= most; ++i) artifacts[{"kernel_parameter", std::to_string(i)}] = Absent{};
  const auto checked = check_observed({{"sysctl", {}}}, builtin_registry(), observed);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().describe() == "sysctl: 10001 artifacts, more than the limit of 10000");
}

TEST_CASE("values and originals in a manifest must match the shapes of their types", "[reported]") {
  const auto refused = [](const Manifest& manifest) {
    const auto checked = check_manifest(manifest, builtin_registry());
    return checked ? "" : checked.error().describe();
  };
  Manifest manifest;
  manifest.resources[{"sysctl", "vm.swappiness"}].last_applied = Value::map({{"running", 1}});
  CHECK(refused(manifest) == "last applied sysctl/vm.swappiness: running: expected text, found integer");
  manifest.resources.clear();
  manifest.artifacts[{"kernel_parameter", "vm/swappiness"}] = {"sysctl", "", Present{Value::map(), {}}};
  CHECK(refused(manifest) ==
        "original from before sparkplan: artifact kernel_parameter:vm/swappiness of sysctl: value: missing");
  manifest.artifacts.clear();
  manifest.artifacts[{"of_a_newer_type", "x"}] = {"of_a_newer_type", "", Present{Value::map({{"a", 1}}), {}}};
  CHECK(refused(manifest).empty());
  manifest.artifacts[{"of_a_newer_type", "x"}] = {"of_a_newer_type", "", Present{Value(Value::Unknown{"x", "y"}), {}}};
  CHECK(refused(manifest) == "original from before sparkplan: expected a known value, found unknown");
}

TEST_CASE("unrequested exports and reserved keys are removed", "[reported]") {
  NodeExports exports{{"mount", Value::map({{"writes", Value::list()}, {std::string(kOutdatedExport), true}})},
                      {"nvme_tcp", Value::map({{"hostid", 7}})},
                      {"sysctl", Value::map()}};
  NodeExports asked_of_mount = exports;
  REQUIRE(check_exports({"mount", "sysctl"}, builtin_registry(), asked_of_mount));
  REQUIRE(asked_of_mount.size() == 1);
  CHECK(asked_of_mount.at("mount").find(kOutdatedExport) == nullptr);
  const auto refused = check_exports({"mount", "nvme_tcp"}, builtin_registry(), exports);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().describe() == "exported nvme_tcp: hostid: expected text, found integer");
}

TEST_CASE("steps of a journal must belong to types of this build and to their own resources", "[reported]") {
  Step step;
  step.type = "sysctl";
  step.artifact = {"kernel_parameter", "vm/swappiness"};
  step.before = step.after = Present{Value::map({{"value", "1"}}), {}};
  step.resources = {{"sysctl", "vm.swappiness"}};
  const auto refused = [](const Step& one) {
    const std::vector<Step> steps{one};
    const auto checked = check_steps(steps, builtin_registry());
    return checked ? "" : checked.error().describe();
  };
  CHECK(refused(step).empty());
  Step other = step;
  other.resources = {{"ssh_trust", "root"}};
  CHECK(refused(other) == "a step for a resource of another type: ssh_trust/root");
  other = step;
  other.type = "no-such-type";
  CHECK(refused(other) == "this build has no resource type no-such-type");
  other = step;
  other.after = Present{Value::map({{"value", Value::Unknown{"x", "y"}}}), {}};
  CHECK(refused(other) == "artifact kernel_parameter:vm/swappiness of sysctl: value: expected text, found unknown");
}

}  // namespace sparkplan::test
