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

struct ReportedCase {
  CaseFolder folder;
  World world;
  Look look;
};

std::vector<ReportedCase> open_reported_cases() {
  std::vector<ReportedCase> cases;
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
                              std::string("a\0b\nc\x1b[2J\x9b\xc2\x85\r", 13),
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
  input.unresolved = look.unresolved;
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
  const auto cases = open_reported_cases();
  for (const auto& type : builtin_registry().types()) {
    INFO(type->info().name);
    CHECK_FALSE(type->info().reported.resource.is_anything());
  }
  std::set<std::string> exporting;
  for (const ReportedCase& one : cases)
    for (const auto& [type, value] : exports_in(one.world)) exporting.insert(type);
  for (const std::string& type : exporting) {
    INFO(type);
    CHECK(builtin_registry().find(type)->info().reported.exported);
  }
}

TEST_CASE("the reports of all cases match their shapes and stay unchanged", "[reported]") {
  for (const ReportedCase& one : open_reported_cases()) {
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
  for (const ReportedCase& one : open_reported_cases()) {
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
  for (const ReportedCase& one : open_reported_cases()) {
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
  for (const ReportedCase& one : open_reported_cases()) {
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

}  // namespace sparkplan::test
