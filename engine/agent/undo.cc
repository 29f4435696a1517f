#include "engine/agent/undo.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

/// What a run made of one artifact, from its first stage to its last.
struct ChangedArtifact {
  Step step;  ///< `before` the run, and `after` it.
  bool cut = false;
};

void note_resources(const Step& from, Step& into) {
  for (const auto& id : from.resources) {
    const bool known = std::find(into.resources.begin(), into.resources.end(), id) != into.resources.end();
    if (!known) into.resources.push_back(id);
  }
}

/// In the order in which the run has touched them last.
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

/// Why the artifact stays as it is; empty: it is put back.
std::string why_kept(const ChangedArtifact& changed, const Observation& now) {
  const Step& step = changed.step;
  if (const auto* error = std::get_if<Error>(&now)) return "it cannot be read: " + error->describe();
  if (step.reversible == Reversible::kNo) return "it cannot be undone";
  const bool has_state = std::holds_alternative<Absent>(step.before) || std::holds_alternative<Present>(step.before);
  if (!has_state) return "what it was before is not known";
  if (step.activates || same_state(now, step.after)) return "";
  return changed.cut ? "the run broke off at it, and it is neither as before nor as planned" : "it was changed since";
}

bool same_group(const Step& a, const Step& b) { return a.type == b.type && a.group == b.group; }

/// What activates is of use only where something of its group is put back.
void drop_needless_activations(std::vector<Step>& steps) {
  std::erase_if(steps, [all = steps](const Step& step) {
    return step.activates && std::none_of(all.begin(), all.end(), [&](const Step& other) {
             return !other.activates && same_group(step, other);
           });
  });
}

/// The last one first, what activates after what it makes take effect, the network at the end.
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

/// A journal that nobody can read may be the one of the last run.
Result<void> check_none_damaged_after(const std::string& run, const Journals& journals) {
  for (const auto& damaged : journals.damaged) {
    const auto name = std::filesystem::path(damaged.file).stem().string();
    if (name < run) continue;
    return failure(ErrorCode::kInvalidInput,
                   "the journal " + damaged.file + " is damaged (" + damaged.error.describe() +
                       "), so what was done last is not known",
                   "look at it, and move it out of its directory to roll back the run before it");
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
                         " was journaled by an older sparkplan, which has not written down all that undoing needs");
    }
    // The first stage saw the manifest as it was before the run.
    for (const auto& [id, managed] : journaled.managed) reply.managed_before.emplace(id, managed);
  }
  for (auto& changed : changed_artifacts(*journal)) {
    Step& step = changed.step;
    const auto* type = registry.find(step.type);
    const auto now = type == nullptr
                         ? Observation(Error{ErrorCode::kUnsupported, "there is no type " + step.type, {}, {}, ""})
                         : read_artifact(step.artifact, *type, node);
    // Also what the run wrote without changing it.
    if (!step.activates && same_state(now, step.before)) continue;
    if (auto reason = why_kept(changed, now); !reason.empty()) {
      reply.kept.push_back({step.type, step.artifact, step.resources, std::move(reason)});
      continue;
    }
    step.after = std::move(step.before);
    step.before = now;
    step.needs.clear();
    reply.steps.push_back(std::move(step));
  }
  drop_needless_activations(reply.steps);
  reply.steps = in_order_of_undoing(std::move(reply.steps));
  return reply;
}

}  // namespace sparkplan
