#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/plan_lookup.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/fleet/planning/release_scope.h"

/// The data of other nodes: what it changes in a plan, and what has changed since.
namespace sparkplan {
namespace {

Error stale(std::string message, std::string hint = "plan again") {
  return Error{ErrorCode::kStalePlan, std::move(message), {}, std::nullopt, std::move(hint)};
}

/// The resources that the finding's entry of the file declares; all of the type for a finding without a place.
std::set<ResourceId> concerned_by(const Diagnostic& finding, const Desired& desired) {
  std::set<ResourceId> ids;
  for (const Resource& resource : desired.resources) {
    if (!finding.where.known() || resource.where == finding.where) ids.insert(resource.id);
  }
  return ids;
}

/// Null without an export of the type.
const Value* of_type(const std::map<std::string, NodeExports>& all, const std::string& node, const std::string& type) {
  const auto exports = all.find(node);
  if (exports == all.end()) return nullptr;
  const auto found = exports->second.find(type);
  return found == exports->second.end() ? nullptr : &found->second;
}

std::vector<std::string> nodes_that_changed(const std::map<std::string, NodeExports>& before,
                                            const std::map<std::string, NodeExports>& now, const std::string& type) {
  std::vector<std::string> names;
  for (const auto& [name, exports] : now) {
    const Value* then = of_type(before, name, type);
    const Value* value = of_type(now, name, type);
    const bool unchanged = then == nullptr || value == nullptr ? then == value : *then == *value;
    if (!unchanged) names.push_back(name);
  }
  return names;
}

}  // namespace

Desired PlanRun::desired_in_view(const PlannedNode& planned, const ResourceType& type,
                                 const std::map<std::string, NodeExports>& exports) const {
  const FleetNode& node = planned.node;
  return type.desired(
      ClusterView{session_.cluster(), *node.spec, exports, allow_management_change_, session_.options().secrets.get()},
      node.spec->sections.at(type.info().section), node.known.facts);
}

std::vector<Diagnostic> PlanRun::due_to_others(const PlannedNode& planned,
                                               const std::vector<Diagnostic>& findings) const {
  struct Views {
    Desired of_all;
    Desired of_own;
  };
  std::map<std::string, NodeExports> own;
  if (const auto exported = exports_.find(planned.node.name()); exported != exports_.end()) own.insert(*exported);
  // Silence is due to the silent node: in this node's own view, the other nodes report that they use nothing.
  const auto own_view = [&](const std::string& type) {
    auto view = own;
    if (!session_.exported_everywhere().contains(type)) return view;
    for (const FleetNode& other : session_.nodes()) {
      if (other.name() != planned.node.name()) view[other.name()][type] = Value::map();
    }
    return view;
  };
  std::map<std::string, Views> views;  // By type.
  std::vector<Diagnostic> found;
  for (const Diagnostic& finding : findings) {
    const ResourceType* type = session_.registry().find(finding.code.substr(0, finding.code.find('.')));
    if (type == nullptr || !planned.node.spec->sections.contains(type->info().section)) continue;
    auto view = views.find(type->info().name);
    if (view == views.end()) {
      Views made{desired_in_view(planned, *type, exports_),
                 desired_in_view(planned, *type, own_view(type->info().name))};
      view = views.emplace(type->info().name, std::move(made)).first;
    }
    const auto is_in = [&](const Desired& desired) {
      // The place in the cluster is added later.
      return std::ranges::any_of(desired.diagnostics, [&](const Diagnostic& one) {
        return one.code == finding.code && one.message == finding.message && one.where == finding.where;
      });
    };
    if (is_in(view->second.of_all) && !is_in(view->second.of_own)) found.push_back(finding);
  }
  return found;
}

/// Compares the consequences for this node, not the exports: mounts and the like change all the time. Only resources
/// with other consequences are left out, with all that need them: another node's claim must not stop the whole node.
/// True if there is one.
bool PlanRun::go_stale(PlannedNode& planned, const ResourceType& type, const std::map<std::string, NodeExports>& now,
                       const std::vector<std::string>& changed) const {
  const std::string& name = type.info().name;
  const auto& steps = planned.plan.steps;
  const bool concerned = std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.type == name; });
  if (!planned.node.spec->sections.contains(type.info().section) || !concerned) return false;
  const Desired before = desired_in_view(planned, type, exports_);
  const Desired after = desired_in_view(planned, type, now);
  std::map<ResourceId, Error> stale_ones;
  for (const auto& finding : after.diagnostics) {
    const auto& known = before.diagnostics;
    if (std::find(known.begin(), known.end(), finding) != known.end()) continue;
    const Error error =
        stale("the nodes' data for " + name + " changed since the plan was made: " + finding.message, finding.hint);
    for (const ResourceId& id : concerned_by(finding, before)) stale_ones.emplace(id, error);
  }
  for (const ResourceId& id : differing(before, after)) {
    stale_ones.emplace(
        id, stale("the data of " + join(changed, ", ") + " for " + name + " changed since the plan was made"));
  }
  bool found = false;
  const auto changes = changes_by_id(planned.plan);
  for (const auto& [id, error] : stale_ones) {
    // Resources in sync stay as they are.
    const bool planned_before = find_resource(before.resources, id) != nullptr;
    if (planned_before && !changes.contains(id)) continue;
    found = planned.outcomes.go_stale(id, error) || found;
  }
  if (after.refused && !before.refused) session_.give_up(planned.node, *after.refused);
  return found;
}

void PlanRun::check_others_unchanged() {
  const auto now = session_.exports();
  for (const auto& name : session_.exported_everywhere()) {
    const auto changed = nodes_that_changed(exports_, now, name);
    for (auto& planned : nodes_) {
      if (changed.empty() || !planned.node.active() || planned.node.leaving) continue;
      session_.work_on(planned.node, [&](FleetNode& node) {
        if (!go_stale(planned, *session_.registry().find(name), now, changed) || !node.active()) return;
        make_plan(planned);
        planned.keep_to_approved();
      });
    }
  }
}

}  // namespace sparkplan
