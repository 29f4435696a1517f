#include "engine/fleet/planning/rollback_run.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

/// A step, and the size of the values that a change of it shows.
struct ShownStep {
  const Step* step = nullptr;
  std::size_t bytes = 0;
};
/// The steps that concern one resource.
using StepsOfOne = std::vector<ShownStep>;

/// Of the artifacts in the changes of one node. A node may name thousands of resources in a step with megabytes of
/// text, and each of their changes would have a copy.
constexpr std::size_t kMostShownBytes = std::size_t{4} << 20;
constexpr auto kNotShown = "what it restores is not shown: the changes of this node have too much text";

/// A node may name thousands, each with 4 KiB of reason, and the report has a copy of each warning.
constexpr std::size_t kMostKeptNamed = 1'000;

constexpr auto kPutBackAsFar = "is restored only as far as possible: other effects since then stay";

/// The fields in which two values of a resource differ. A value that is no map counts as one field.
std::vector<FieldChange> differences(const Value& before, const Value& after) {
  if (before == after) return {};
  const bool fields = (before.is_map() || before.is_null()) && (after.is_map() || after.is_null());
  if (!fields) return {{"", before, after}};
  static const Value kAbsent;
  // Both values come from the node. A search for each of thousands of fields would take the square of their number.
  std::map<std::string_view, std::pair<const Value*, const Value*>> sides;
  for (const MapEntry& entry : entries_of(before)) sides.emplace(entry.key, std::pair(&entry.value, &kAbsent));
  for (const MapEntry& entry : entries_of(after))
    sides.emplace(entry.key, std::pair(&kAbsent, &kAbsent)).first->second.second = &entry.value;
  std::vector<FieldChange> changes;
  for (const auto& [key, side] : sides) {
    if (!(*side.first == *side.second)) changes.push_back({std::string(key), *side.first, *side.second});
  }
  return changes;
}

Value shown(const Observation& observation) {
  if (const auto text = content_of(observation); text && std::holds_alternative<Present>(observation)) return *text;
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? Value() : present->value;
}

/// A run that only corrected drift changed no desired value, so its artifacts show the difference.
std::vector<FieldChange> differences_of_artifacts(const StepsOfOne& steps) {
  std::vector<FieldChange> changes;
  for (const auto& [step, bytes] : steps) {
    if (is_text_artifact(step->artifact)) {
      changes.push_back({step->artifact.name, shown(step->before), shown(step->after)});
      continue;
    }
    for (auto& change : differences(shown(step->before), shown(step->after))) changes.push_back(std::move(change));
  }
  std::erase_if(changes, [](const FieldChange& change) { return change.before == change.after; });
  return changes;
}

/// `shown_bytes` is the size of the artifacts in the changes so far.
Change change_of(const ResourceId& id, const StepsOfOne& steps, const std::optional<ManagedResource>& before,
                 const Manifest& manifest, std::size_t& shown_bytes) {
  Change change;
  change.id = id;
  const auto known = manifest.resources.find(id);
  const Value now = known == manifest.resources.end() ? Value() : known->second.last_applied;
  const Value then = before ? before->last_applied : Value();
  change.fields = differences(now, then);
  std::size_t bytes_of_steps = 0;
  for (const ShownStep& one : steps) bytes_of_steps += one.bytes;
  if (!change.fields.empty()) {
    if (now.is_null()) change.action = Action::kCreate;
    if (then.is_null()) change.action = Action::kRemove;
  } else if (shown_bytes + bytes_of_steps <= kMostShownBytes) {
    shown_bytes += bytes_of_steps;
    change.fields = differences_of_artifacts(steps);
  } else {
    change.note = kNotShown;
  }
  if (change.fields.empty()) change.fields.push_back({"", now, then});
  for (const auto& [step, bytes] : steps) {
    change.reversible = std::max(change.reversible, step->reversible);
    if (step->phase == Phase::kNetwork) change.impact = Impact::kInterruptsNetwork;
  }
  if (change.reversible == Reversible::kBestEffort)
    change.note += (change.note.empty() ? "" : "; it ") + std::string(kPutBackAsFar);
  return change;
}

/// `steps_left` move into the plan. `undo` is the first answer, which has none any more.
NodePlan plan_of(const UndoReply& undo, std::vector<Step> steps_left, const Manifest& manifest) {
  NodePlan plan;
  plan.steps = std::move(steps_left);
  plan.managed_before = static_cast<int>(manifest.resources.size());
  for (const auto& [id, managed] : manifest.resources) plan.resulting.emplace(id, managed.last_applied);
  std::map<ResourceId, StepsOfOne> steps_of;
  for (const Step& step : plan.steps) {
    const std::size_t bytes = memory_of(present_value(step.before)) + memory_of(present_value(step.after));
    for (const ResourceId& id : step.resources) {
      StepsOfOne& steps = steps_of[id];
      if (steps.empty() || steps.back().step != &step) steps.push_back({&step, bytes});
    }
  }
  std::size_t shown_bytes = 0;
  for (const auto& [id, steps] : steps_of) {
    const auto journaled = undo.managed_before.find(id);
    const auto before = journaled == undo.managed_before.end() ? std::nullopt : journaled->second;
    plan.changes.push_back(change_of(id, steps, before, manifest, shown_bytes));
    // The manifest has no entry for a whole file.
    if (id.name != kWholeFileName) plan.after_steps.emplace(id, before ? before->last_applied : Value());
  }
  return plan;
}

}  // namespace

void RollbackRun::read_journals() {
  session_.on_each(nodes_, [&](PlannedNode& planned) {
    FleetNode& node = planned.node;
    session_.show(node, "reading its journals");
    // The steps of an earlier answer are not needed for this one, and may be megabytes.
    planned.plan.steps = {};
    failed_[node.place] = {};
    auto reply = what_undoes(*node.client, {undone_run(planned)}, session_.registry());
    if (!reply) return session_.give_up(node, std::move(reply).error());
    // After a stage, the answers are about the rest of the run from the first answer. The steps are kept once, in the
    // plan. The entries from before the run are the same in each answer, and are kept from the first one.
    planned.plan.steps = std::exchange(reply->steps, {});
    auto& undo = undo_[node.place];
    if (!undo) undo = std::move(*reply);
    session_.show(node, "journals read", Activity::kWaiting);
  });
}

void RollbackRun::make_plans() {
  for (auto& planned : nodes_) {
    if (!planned.node.active() || !planned.node.known.manifest) continue;
    session_.work_on(planned.node, [&](FleetNode& node) {
      // A second plan of the same answer lists all its changes again, also those that have failed by now.
      std::vector<Step> steps = std::exchange(planned.plan.steps, {});
      std::vector<Step>& failed = failed_[node.place];
      std::move(failed.begin(), failed.end(), std::back_inserter(steps));
      failed.clear();
      planned.plan = plan_of(*undo_[node.place], std::move(steps), *node.known.manifest);
    });
    for (const auto& [id, error] : planned.outcomes.failures()) planned.plan.blocked.push_back({id, error, {}});
    put_failed_aside(planned);
  }
}

/// A failed change is not tried again in the same run.
void RollbackRun::put_failed_aside(PlannedNode& planned) {
  std::vector<Step>& steps = planned.plan.steps;
  const auto failed = std::stable_partition(steps.begin(), steps.end(), [&](const Step& step) {
    return std::none_of(step.resources.begin(), step.resources.end(),
                        [&](const ResourceId& id) { return planned.outcomes.of(id).failure.has_value(); });
  });
  std::move(failed, steps.end(), std::back_inserter(failed_[planned.node.place]));
  steps.erase(failed, steps.end());
}

/// The run that more than half of the nodes with a run name as their last; empty without one. Also empty if two nodes
/// name newer runs: they may have taken part in a run that left out the others.
std::string RollbackRun::last_run_of_most(const NodesOfRun& nodes_of_run) {
  std::size_t with_runs = 0;
  for (const auto& [run, names] : nodes_of_run) with_runs += names.size();
  for (auto of_most = nodes_of_run.begin(); of_most != nodes_of_run.end(); ++of_most) {
    if (of_most->second.size() * 2 <= with_runs) continue;
    const bool one_claims_newer =
        std::all_of(std::next(of_most), nodes_of_run.end(), [](const auto& newer) { return newer.second.size() == 1; });
    return one_claims_newer ? of_most->first : "";
  }
  return "";
}

/// A newer run that this controller's log has on a node: the node names it, or it is done there and not undone.
std::optional<RecordedOn> RollbackRun::newer_run_in_log(const NodesOfRun& nodes_of_run, const std::string& last) const {
  const std::string& cluster = session_.cluster().name;
  for (auto newer = nodes_of_run.upper_bound(last); newer != nodes_of_run.end(); ++newer) {
    for (const std::string& name : newer->second) {
      if (is_recorded(log_, cluster, newer->first, name)) return RecordedOn{newer->first, name};
    }
  }
  HistoryScope scope{cluster, {}, {}};
  for (const FleetNode& node : session_.nodes()) scope.nodes.push_back(node.name());
  // Another cluster of this controller may have the same name, and nodes of the same names.
  for (const auto& [uuid, manifests] : session_.cluster_ids()) scope.cluster_ids.push_back(uuid);
  return newest_kept_run(log_, scope, last);
}

/// The node's statement about its last run, for a sentence with "which".
std::string RollbackRun::claim_of(const std::string& name) const {
  const auto planned = std::ranges::find_if(nodes_, [&](const PlannedNode& one) { return one.node.name() == name; });
  if (planned == nodes_.end() || !undo_[planned->node.place]) return "was not read";
  const std::string run = undone_run(*planned);
  return run.empty() ? "names no run" : "names " + printable(run);
}

/// Without names, the last run of most nodes is undone, and nodes that it did not change are skipped. A single node
/// cannot prevent it: if it names a newer run, it is refused alone. A single node could cause it, by naming an older
/// run than its last one. So nothing is undone if the log has a newer run on a node, whatever that node names.
void RollbackRun::skip_other_runs() {
  NodesOfRun nodes_of_run;
  for (const auto& planned : nodes_) {
    const std::string run = undone_run(planned);
    if (planned.node.active() && !run.empty()) nodes_of_run[run].push_back(planned.node.name());
  }
  const bool of_cluster = names_.empty();
  const std::string last = of_cluster ? last_run_of_most(nodes_of_run) : "";
  if (of_cluster && last.empty() && !nodes_of_run.empty()) return refuse_unclear_rollback(nodes_of_run, "");
  if (of_cluster && !last.empty()) {
    if (const auto newer = newer_run_in_log(nodes_of_run, last)) {
      return refuse_unclear_rollback(nodes_of_run, "; this controller's log has the newer run " +
                                                       printable(newer->run) + " on " + newer->node + ", which " +
                                                       claim_of(newer->node));
    }
  }
  std::vector<std::string> not_in_run;
  for (auto& planned : nodes_) {
    FleetNode& node = planned.node;
    if (!node.active() || !undo_[node.place]) continue;
    const std::string run = undone_run(planned);
    if (!run.empty() && (!of_cluster || run == last)) continue;
    if (of_cluster && run > last) {
      session_.give_up(
          node, ErrorCode::kRefused,
          "only this node names " + printable(run) + " as the last run; most nodes name " + printable(last),
          "to roll it back as well, name it: sparkplan rollback " + node.name());
      continue;
    }
    node.skipped = true;
    node.client.reset();
    not_in_run.push_back(node.name());
  }
  remark_on_skipped(not_in_run, last);
}

/// `last` is empty if the nodes were named, or if no node has a run to undo.
void RollbackRun::remark_on_skipped(const std::vector<std::string>& names, const std::string& last) {
  if (names.empty() || last.empty()) return;
  session_.remark(
      finding(Severity::kNote, "rollback.not-in-run",
              printable(last) + " is not the last run on " + fold_names(names) + ": nothing is undone there",
              "to undo a node's own last run, name the node: sparkplan rollback " + names.front()));
}

void RollbackRun::refuse_unclear_rollback(const NodesOfRun& nodes_of_run, const std::string& addition) {
  std::vector<std::string> last_runs;
  for (const auto& [run, names] : nodes_of_run) last_runs.push_back(printable(run) + " on " + fold_names(names));
  const std::string_view claims = last_runs.size() > 1 ? "the nodes name different last runs: " : "the last run is ";
  for (auto& node : session_.nodes()) {
    if (!node.active()) continue;
    session_.give_up(node, ErrorCode::kRefused, std::string(claims) + join(last_runs, ", ") + addition,
                     "name the nodes to roll back: sparkplan rollback NODE...");
  }
}

void RollbackRun::remark_on_kept(const FleetNode& node, const std::vector<KeptArtifact>& kept) {
  const std::size_t count = std::min(kept.size(), kMostKeptNamed);
  for (std::size_t i = 0; i < count; ++i) {
    session_.remark(node, Severity::kWarning, "rollback.kept",
                    node.name() + ": " + kept[i].artifact.name + " stays as it is: " + kept[i].reason);
  }
  if (kept.size() == count) return;
  session_.remark(node, Severity::kWarning, "rollback.kept",
                  node.name() + ": " + std::to_string(kept.size() - count) + " further artifacts stay as they are");
}

void RollbackRun::remark_on_rollback() {
  const std::string& file = session_.cluster().file;
  const auto& shown_time = session_.options().shown_time;
  std::map<std::string, std::vector<std::string>> nodes_of_run;
  for (const auto& node : session_.nodes()) {
    if (!node.active()) continue;
    UndoReply& undo = *undo_[node.place];
    const std::string begun = shown_time ? shown_time(undo.time) : undo.time;
    // A node words both.
    nodes_of_run["run " + undo.run + " (" + listed_value(undo.operation) + " by " + listed_value(undo.who) + ", " +
                 begun + ")"]
        .push_back(node.name());
    remark_on_kept(node, std::exchange(undo.kept, {}));
  }
  for (const auto& [run, names] : nodes_of_run)
    session_.remark(finding(Severity::kNote, "rollback.run", run + " is undone on " + fold_names(names)));
  if (nodes_of_run.empty()) return;
  session_.remark(finding(Severity::kNote, "rollback.pending",
                          file + " is unchanged: the next plan shows the difference as pending",
                          "to keep the rolled-back state, change " + file + " as well"));
}

void RollbackRun::plan() {
  for (auto& node : session_.nodes()) {
    const bool named = names_.empty() || std::find(names_.begin(), names_.end(), node.name()) != names_.end();
    node.skipped = node.skipped || !named;
  }
  session_.open();
  session_.find_roster();
  begin();
  undo_.resize(nodes_.size());
  failed_.resize(nodes_.size());
  read_journals();
  skip_other_runs();
  make_plans();
  remark_on_rollback();
}

/// The rest of the run that is rolled back contains every artifact that is not restored. One look is enough: the agent
/// answers from the journal and the artifacts.
std::string RollbackRun::why_not_shown(PlannedNode& planned, const TrialSteps& trial,
                                       std::chrono::steady_clock::time_point /*end*/) {
  auto left = what_undoes(*planned.node.client, {undone_run(planned)}, session_.registry());
  if (!left) return "its state could not be read: " + left.error().describe();
  for (const Step& step : left->steps) {
    const bool tried = std::ranges::any_of(trial.steps, [&](const Step& one) { return one.artifact == step.artifact; });
    if (tried) return "the node still differs after the rollback: " + step.artifact.str();
  }
  return "";
}

std::string RollbackRun::undone_run(const PlannedNode& planned) const {
  const auto& undo = undo_[planned.node.place];
  return undo ? undo->run : "";
}

std::map<ResourceId, ManagedResource> RollbackRun::managed_after(const PlannedNode& planned) const {
  // The second answer of a node may lack the manifest.
  std::map<ResourceId, ManagedResource> managed;
  if (planned.node.known.manifest) managed = planned.node.known.manifest->resources;
  for (const auto& [id, before] : undo_[planned.node.place]->managed_before) {
    if (!planned.outcomes.of(id).carried_out) continue;
    if (before) {
      managed.insert_or_assign(id, *before);
    } else {
      managed.erase(id);
    }
  }
  return managed;
}

}  // namespace sparkplan
