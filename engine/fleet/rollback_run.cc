// Rolling back: what undoes a past run is planned from the nodes' journals and carried out as any plan.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/core/finding.h"
#include "engine/core/text.h"
#include "engine/fleet/cluster_run.h"
#include "engine/fleet/node_reply.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"

namespace sparkplan {
namespace {

constexpr auto kPutBackAsFar = "is put back as far as it goes: what happened in between stays";

/// The fields in which two values of a resource differ; a value that is no map is one field.
std::vector<FieldChange> differences(const Value& before, const Value& after) {
  if (before == after) return {};
  const bool fields = (before.is_map() || before.is_null()) && (after.is_map() || after.is_null());
  if (!fields) return {{"", before, after}};
  std::set<std::string> keys;
  for (const Value* value : {&before, &after}) {
    if (!value->is_map()) continue;
    for (const auto& entry : *value->entries()) keys.insert(entry.key);
  }
  const auto at = [](const Value& value, const std::string& key) {
    const auto* field = value.is_map() ? value.find(key) : nullptr;
    return field == nullptr ? Value() : *field;
  };
  std::vector<FieldChange> changes;
  for (const auto& key : keys) {
    const auto was = at(before, key);
    const auto becomes = at(after, key);
    if (!(was == becomes)) changes.push_back({key, was, becomes});
  }
  return changes;
}

Value shown(const Observation& observation) {
  if (const auto text = content_of(observation); text && std::holds_alternative<Present>(observation)) return *text;
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? Value() : present->value;
}

/// A run that has mended drift has changed no wish, only what the node had.
std::vector<FieldChange> differences_of_artifacts(const std::vector<Step>& steps, const ResourceId& id) {
  std::vector<FieldChange> changes;
  for (const Step& step : steps) {
    if (std::find(step.resources.begin(), step.resources.end(), id) == step.resources.end()) continue;
    if (is_text_artifact(step.artifact)) {
      changes.push_back({step.artifact.name, shown(step.before), shown(step.after)});
      continue;
    }
    for (auto& change : differences(shown(step.before), shown(step.after))) changes.push_back(std::move(change));
  }
  std::erase_if(changes, [](const FieldChange& change) { return change.before == change.after; });
  return changes;
}

Change change_of(const ResourceId& id, const UndoReply& undo, const std::optional<ManagedResource>& before,
                 const Manifest& manifest) {
  Change change;
  change.id = id;
  const auto known = manifest.resources.find(id);
  const Value now = known == manifest.resources.end() ? Value() : known->second.last_applied;
  const Value then = before ? before->last_applied : Value();
  change.fields = differences(now, then);
  if (!change.fields.empty()) {
    if (now.is_null()) change.action = Action::kCreate;
    if (then.is_null()) change.action = Action::kRemove;
  } else {
    change.fields = differences_of_artifacts(undo.steps, id);
  }
  if (change.fields.empty()) change.fields.push_back({"", now, then});
  for (const Step& step : undo.steps) {
    if (std::find(step.resources.begin(), step.resources.end(), id) == step.resources.end()) continue;
    change.reversible = std::max(change.reversible, step.reversible);
    if (step.phase == Phase::kNetwork) change.impact = Impact::kInterruptsNetwork;
  }
  if (change.reversible == Reversible::kBestEffort) change.note = kPutBackAsFar;
  return change;
}

NodePlan plan_of(const UndoReply& undo, const Manifest& manifest) {
  NodePlan plan;
  plan.steps = undo.steps;
  plan.managed_before = static_cast<int>(manifest.resources.size());
  for (const auto& [id, managed] : manifest.resources) plan.resulting.emplace(id, managed.last_applied);
  std::set<ResourceId> ids;
  for (const Step& step : undo.steps) ids.insert(step.resources.begin(), step.resources.end());
  for (const auto& id : ids) {
    const auto journaled = undo.managed_before.find(id);
    const auto before = journaled == undo.managed_before.end() ? std::nullopt : journaled->second;
    plan.changes.push_back(change_of(id, undo, before, manifest));
    // A whole file is no resource that a manifest knows.
    if (id.name != kWholeFileName) plan.after_steps.emplace(id, before ? before->last_applied : Value());
  }
  return plan;
}

Diagnostic remark(Severity severity, std::string code, std::string message, std::string node = {}) {
  Diagnostic remark = finding(severity, std::move(code), std::move(message));
  remark.node = std::move(node);
  return remark;
}

}  // namespace

void ClusterRun::ask_what_undoes() {
  on_each([&](NodeRun& node) {
    tell(node, "reading its journals");
    auto reply = what_undoes(*node.client, {node.undo ? node.undo->run : ""}, registry_);
    if (!reply) return give_up(node, std::move(reply).error());
    // The answers after a stage are about what is left of the first.
    if (!node.undo) node.undo = *reply;
    node.undo_left = std::move(*reply);
    tell(node, "journals read", Activity::kWaiting);
  });
}

void ClusterRun::make_plans_of_undoing() {
  for (auto& node : nodes_) {
    if (!active(node) || !node.known.manifest) continue;
    work_on(node, [](NodeRun& undone) { undone.plan = plan_of(undone.undo_left, *undone.known.manifest); });
    for (const auto& [id, error] : node.failures) node.plan.blocked.push_back({id, error, {}});
    // What has failed once is not tried again in the same run.
    std::erase_if(node.plan.steps, [&](const Step& step) {
      return std::any_of(step.resources.begin(), step.resources.end(),
                         [&](const ResourceId& id) { return node.failures.count(id) > 0; });
    });
  }
}

/// Without names it is the cluster's last run: nodes that have not seen it stay out. Which run that is more than half
/// of the nodes have to say, or no node would be rolled back by the claim of one.
void ClusterRun::leave_out_other_runs(const std::vector<std::string>& names) {
  std::string newest;
  std::size_t with_runs = 0;
  std::map<std::string, std::vector<std::string>> nodes_of_run;
  for (const auto& node : nodes_) {
    if (!active(node) || !node.undo || node.undo->run.empty()) continue;
    newest = std::max(newest, node.undo->run);
    nodes_of_run[node.undo->run].push_back(node.spec->name.str());
    ++with_runs;
  }
  const bool unclear = with_runs > 0 && nodes_of_run[newest].size() * 2 <= with_runs;
  if (names.empty() && unclear) return refuse_unclear_rollback(nodes_of_run);
  for (auto& node : nodes_) {
    if (!active(node) || !node.undo) continue;
    const bool concerned = !node.undo->run.empty() && (!names.empty() || node.undo->run == newest);
    if (concerned) continue;
    node.skipped = true;
    node.client.reset();
  }
}

void ClusterRun::refuse_unclear_rollback(const std::map<std::string, std::vector<std::string>>& nodes_of_run) {
  std::vector<std::string> last_runs;
  for (const auto& [run, names] : nodes_of_run) last_runs.push_back(printable(run) + " on " + fold_names(names));
  for (auto& node : nodes_) {
    if (!active(node)) continue;
    give_up(node, Error{ErrorCode::kRefused,
                        "the nodes name different last runs: " + join(last_runs, ", "),
                        {},
                        std::nullopt,
                        "name the nodes to roll back: sparkplan rollback NODE..."});
  }
}

void ClusterRun::remark_on_rollback() {
  std::map<std::string, std::vector<std::string>> nodes_of_run;
  for (const auto& node : nodes_) {
    if (!active(node)) continue;
    const auto& name = node.spec->name.str();
    nodes_of_run["run " + node.undo->run + " (" + node.undo->operation + " by " + node.undo->who + ", " +
                 node.undo->time + ")"]
        .push_back(name);
    for (const auto& kept : node.undo->kept) {
      remarks_.push_back(remark(Severity::kWarning, "rollback.kept",
                                name + ": " + kept.artifact.name + " stays as it is: " + kept.reason, name));
    }
  }
  for (const auto& [run, names] : nodes_of_run)
    remarks_.push_back(remark(Severity::kNote, "rollback.run", run + " is undone on " + fold_names(names)));
  if (nodes_of_run.empty()) return;
  auto pending = remark(Severity::kNote, "rollback.pending",
                        cluster_.file + " still asks for the other state: the next plan shows it as pending");
  pending.hint = "to keep what is rolled back, change " + cluster_.file + " as well";
  remarks_.push_back(std::move(pending));
}

Report ClusterRun::plan_rollback(const std::vector<std::string>& names) {
  rolls_back_ = true;
  const auto is_named = [&](const NodeRun& node) {
    return names.empty() || std::find(names.begin(), names.end(), node.spec->name.str()) != names.end();
  };
  for (auto& node : nodes_) node.skipped = node.skipped || !is_named(node);
  open();
  find_roster();
  ask_what_undoes();
  leave_out_other_runs(names);
  make_plans_of_undoing();
  remark_on_rollback();
  return report();
}

std::map<ResourceId, ManagedResource> ClusterRun::managed_after_undoing(const NodeRun& node) {
  // A node may answer without a manifest the second time it is asked.
  std::map<ResourceId, ManagedResource> managed;
  if (node.known.manifest) managed = node.known.manifest->resources;
  for (const auto& [id, before] : node.undo->managed_before) {
    if (node.done.count(id) == 0) continue;
    if (before) {
      managed.insert_or_assign(id, *before);
    } else {
      managed.erase(id);
    }
  }
  return managed;
}

}  // namespace sparkplan
