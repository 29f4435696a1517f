// ClusterRun: is all that the plan was made from still so, now that the locks are held?
#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/fleet/cluster_run.h"

namespace sparkplan {
namespace {

Error stale(std::string message, std::string hint = "plan again") {
  return Error{ErrorCode::kStalePlan, std::move(message), {}, std::nullopt, std::move(hint)};
}

bool same(const Resource& a, const Resource& b) { return a.id == b.id && a.desired == b.desired && a.after == b.after; }

bool asks_for_the_same(const Desired& a, const Desired& b) {
  return a.incomplete == b.incomplete && a.refused.has_value() == b.refused.has_value() &&
         std::equal(a.resources.begin(), a.resources.end(), b.resources.begin(), b.resources.end(), same);
}

/// Null where nobody has said anything of the type.
const Value* of_type(const std::map<std::string, NodeExports>& told, const std::string& node, const std::string& type) {
  const auto exports = told.find(node);
  if (exports == told.end()) return nullptr;
  const auto found = exports->second.find(type);
  return found == exports->second.end() ? nullptr : &found->second;
}

std::vector<std::string> who_changed(const std::map<std::string, NodeExports>& before,
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

/// What a node offered before it failed is still true. Of what only one may have at a time what it has counts, too, but
/// nothing can be told from what it has not.
std::map<std::string, NodeExports> ClusterRun::told() const {
  std::map<std::string, NodeExports> all;
  for (const auto& node : nodes_) {
    auto& exports = all[node.spec->name.str()] = node.known.exports;
    if (!node.error && !node.skipped) continue;
    for (const auto& type : exported_everywhere_) {
      const auto found = exports.find(type);
      if (found == exports.end()) continue;
      if (found->second.is_map()) {
        found->second.set(std::string(kOutdatedExport), true);
      } else {
        exports.erase(found);
      }
    }
  }
  return all;
}

/// Not what the others say is compared, but what it means for this node: somebody always mounts something somewhere.
std::optional<Error> ClusterRun::why_stale(const NodeRun& node, const ResourceType& type,
                                           const std::map<std::string, NodeExports>& now,
                                           const std::vector<std::string>& who) const {
  const std::string& name = type.info().name;
  const auto section = node.spec->sections.find(type.info().section);
  const auto& steps = node.plan.steps;
  const bool concerned = std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.type == name; });
  if (section == node.spec->sections.end() || !concerned) return std::nullopt;
  const auto in_view_of = [&](const std::map<std::string, NodeExports>& told) {
    return type.desired(ClusterView{cluster_, *node.spec, told, allow_management_change_}, section->second,
                        node.known.facts);
  };
  const Desired planned = in_view_of(told_);
  const Desired wanted = in_view_of(now);
  for (const auto& finding : wanted.diagnostics) {
    const auto& known = planned.diagnostics;
    if (std::find(known.begin(), known.end(), finding) != known.end()) continue;
    return stale("what the nodes have of " + name + " has changed since the plan was made: " + finding.message,
                 finding.hint);
  }
  if (asks_for_the_same(planned, wanted)) return std::nullopt;
  return stale("what " + join(who, ", ") + (who.size() == 1 ? " has of " : " have of ") + name +
               " has changed since the plan was made");
}

/// What only one may have at a time was planned on what the others said they have.
void ClusterRun::check_others_unchanged() {
  const auto now = told();
  for (const auto& name : exported_everywhere_) {
    const auto who = who_changed(told_, now, name);
    for (auto& node : nodes_) {
      if (who.empty() || !active(node) || node.leaving) continue;
      auto error = why_stale(node, *registry_.find(name), now, who);
      if (!error) continue;
      node.stale = true;
      give_up(node, *std::move(error));
    }
  }
}

/// The plan was made before the lock was held: another run may have come in between.
void ClusterRun::check_unchanged_since_planning() {
  on_each([&](NodeRun& node) {
    const auto last_run = node.known.manifest ? node.known.manifest->last_run : "";
    auto known = node.client->refresh_facts(second_request(node));
    if (!known) return give_up(node, std::move(known).error());
    const bool changed = (known->manifest ? known->manifest->last_run : "") != last_run;
    if (auto learned = learn_again(node, *std::move(known)); !learned) return give_up(node, std::move(learned).error());
    if (!changed) return;
    node.stale = true;
    give_up(node, stale("another run has changed it since the plan was made"));
  });
  // What undoes a run brings nothing back that others might have by now.
  if (!rolls_back_) check_others_unchanged();
}

}  // namespace sparkplan
