#include "engine/agent/apply/undo.h"

#include <algorithm>
#include <utility>

#include "engine/resource/artifact.h"
#include "engine/resource/secret_artifact.h"

namespace sparkplan {
namespace {

/// The change of one artifact by a run, from its first stage to its last.
struct ChangedArtifact {
  Step step;  ///< `before` is the state before the run, `after` the state after it.
  bool cut = false;
};

void note_resources(const Step& from, Step& into) {
  for (const auto& id : from.resources) {
    const bool known = std::find(into.resources.begin(), into.resources.end(), id) != into.resources.end();
    if (!known) into.resources.push_back(id);
  }
}

/// In the order of the run's last change to each.
std::vector<ChangedArtifact> changed_artifacts(const RunJournal& journal) {
  std::vector<ChangedArtifact> changed;
  for (const auto& journaled : journal.steps) {
    if (!journaled.may_have_happened()) continue;
    ChangedArtifact latest{journaled.step, !journaled.outcome};
    const auto earlier = std::find_if(changed.begin(), changed.end(), [&](const ChangedArtifact& one) {
      return one.step.artifact == journaled.step.artifact;
    });
    if (earlier != changed.end()) {
      latest.step.before = earlier->step.before;
      latest.step.reversible = std::max(latest.step.reversible, earlier->step.reversible);
      note_resources(earlier->step, latest.step);
      changed.erase(earlier);
    }
    changed.push_back(std::move(latest));
  }
  return changed;
}

/// The state of a link follows from its files, even if other tools have changed it.
bool follows_files(const Step& step) { return step.activates && step.phase == Phase::kNetwork; }

/// Why the artifact stays as it is; empty if it is restored.
std::string why_kept(const ChangedArtifact& changed, const Observation& now) {
  const Step& step = changed.step;
  if (const auto* error = std::get_if<Error>(&now)) return "it cannot be read: " + error->describe();
  if (step.reversible == Reversible::kNo) return "it cannot be undone";
  const bool has_state = std::holds_alternative<Absent>(step.before) || std::holds_alternative<Present>(step.before);
  if (!has_state) return "its earlier state is unknown";
  if (follows_files(step) || same_state(now, step.after)) return "";
  return changed.cut ? "an interrupted run left neither the old nor the planned state" : "it was changed since";
}

bool same_group(const Step& a, const Step& b) { return a.type == b.type && a.group == b.group; }

bool makes_take_effect(const Step& step, const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const Step& other) { return !other.activates && same_group(step, other); });
}

/// Drops activations without a file to activate, and live states of links without a changed network file. An activation
/// that is alone in its group in `run`, such as a mount, has an effect by itself and stays.
void drop_needless_activations(std::vector<Step>& steps, const std::vector<Step>& run) {
  std::erase_if(steps, [all = steps, &run](const Step& step) {
    if (!step.activates || makes_take_effect(step, all)) return false;
    return makes_take_effect(step, run) || follows_files(step);
  });
}

/// Last step first; activations after the files that they activate; the network at the end.
std::vector<Step> in_order_of_undoing(std::vector<Step> steps) {
  std::reverse(steps.begin(), steps.end());
  std::vector<Step> ordered;
  for (const bool network : {false, true}) {
    for (const bool activates : {false, true}) {
      for (const Step& step : steps) {
        if ((step.phase == Phase::kNetwork) == network && step.activates == activates) ordered.push_back(step);
      }
    }
  }
  return ordered;
}

Result<const RunJournal*> run_to_undo(const UndoRequest& request, const Journals& journals) {
  const auto undone = undone_runs(journals);
  for (const auto& journal : journals.runs) {
    if (!request.run.empty() && journal.run != request.run) continue;
    const bool candidate =
        journal.changed_something() && journal.purpose.undoes.empty() && undone.count(journal.run) == 0;
    if (!request.run.empty() || candidate) return &journal;
  }
  if (!request.run.empty()) return failure(ErrorCode::kNotFound, "there is no journal of run " + request.run);
  return nullptr;
}

/// A damaged journal may belong to the last run.
Result<void> check_none_damaged_after(const std::string& run, const Journals& journals) {
  for (const auto& damaged : journals.damaged) {
    const auto name = std::filesystem::path(damaged.file).stem().string();
    if (name < run) continue;
    return failure(ErrorCode::kInvalidInput,
                   "the journal " + damaged.file + " is damaged (" + damaged.error.describe() +
                       "), so the latest changes are unknown",
                   "inspect it, and move it out of its directory to roll back the run before it");
  }
  return {};
}

}  // namespace

Result<UndoReply> what_undoes(const UndoRequest& request, const Journals& journals, const Registry& registry,
                              const NodeReader& node) {
  SPARK_TRY(const auto* journal, run_to_undo(request, journals));
  SPARK_CHECK(check_none_damaged_after(journal == nullptr ? "" : journal->run, journals));
  UndoReply reply;
  if (journal == nullptr) return reply;
  reply.run = journal->run;
  reply.time = journal->time;
  reply.who = journal->who;
  reply.operation = journal->operation;
  for (const auto& journaled : journal->steps) {
    if (!journaled.complete) {
      return failure(ErrorCode::kUnsupported,
                     "run " + journal->run +
                         " was recorded by an older sparkplan, whose journal lacks data that a rollback needs");
    }
    // The journal of the first stage has the manifest from before the run.
    for (const auto& [id, managed] : journaled.managed) reply.managed_before.emplace(id, managed);
  }
  std::vector<Step> run;
  for (auto& changed : changed_artifacts(*journal)) {
    Step& step = changed.step;
    run.push_back(step);
    const auto* type = registry.find(step.type);
    const auto now = type == nullptr ? Observation(make_error(ErrorCode::kUnsupported, "there is no type " + step.type))
                                     : read_artifact_of(step, *type, node);
    // This also skips artifacts that the run wrote without changing them.
    if (!follows_files(step) && same_state(now, step.before)) continue;
    auto reason = why_kept(changed, now);
    // The other nodes are not asked here. An apply of cluster.yaml asks them.
    const bool concerns_others = type != nullptr && type->info().exports_everywhere;
    if (reason.empty() && concerns_others && std::holds_alternative<Present>(step.before)) {
      reason = "other nodes may now use what this would restore: declare it in cluster.yaml, and apply";
    }
    if (!reason.empty()) {
      reply.kept.push_back({step.type, step.artifact, step.resources, std::move(reason)});
      continue;
    }
    step.after = std::move(step.before);
    step.before = now;
    step.needs.clear();
    reply.steps.push_back(std::move(step));
  }
  drop_needless_activations(reply.steps, run);
  reply.steps = in_order_of_undoing(std::move(reply.steps));
  return reply;
}

}  // namespace sparkplan
