#include "engine/agent/apply/step_executor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/agent/state/manifest_store.h"
#include "engine/resource/artifact.h"
#include "engine/resource/secret_artifact.h"

namespace sparkplan {
namespace {

Value describe(const Step& step) { return Value::map({{"type", step.type}, {"artifact", step.artifact.str()}}); }

/// The manifest's entries about the step's resources. They have to be restored if the step is undone.
Value managed_resources(const Step& step, const Manifest& manifest) {
  Value managed = Value::map();
  for (const auto& id : step.resources) {
    const auto known = manifest.resources.find(id);
    managed.set(id.str(), known == manifest.resources.end() ? Value() : encode(known->second));
  }
  return managed;
}

void fail(StepResult& result, Error error) {
  result.outcome = StepOutcome::kFailed;
  result.error = std::move(error);
}

bool needs(const Step& step, const Step& other) {
  return std::any_of(step.needs.begin(), step.needs.end(), [&](const ResourceId& id) {
    return std::find(other.resources.begin(), other.resources.end(), id) != other.resources.end();
  });
}

/// A file of another type neither depends on the activation nor starts a program that could disturb it.
bool may_be_written_during(const Step& activation, const Step& step) {
  return is_text_artifact(step.artifact) && !step.activates && step.type != activation.type &&
         step.group != activation.group && !needs(step, activation);
}

bool contains_unknown(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present != nullptr && present->value.contains_unknown();
}

}  // namespace

StepExecutor::StepExecutor(const Registry& registry, LocalNode& node, Journal& journal,
                           std::function<bool()> stop_asked, std::function<void(std::string_view)> report)
    : registry_(registry),
      node_(node),
      journal_(journal),
      stop_asked_(std::move(stop_asked)),
      report_(std::move(report)),
      secrets_(node) {}

const ResourceType& StepExecutor::type_of(const Step& step) const { return *registry_.find(step.type); }

void StepExecutor::compare(const Step& step, bool after_other_steps, StepResult& result) const {
  result.artifact = step.artifact;
  if (registry_.find(step.type) == nullptr) {
    return fail(result, make_error(ErrorCode::kUnsupported, "this agent has no resource type " + step.type));
  }
  if (contains_unknown(step.after) || std::holds_alternative<Error>(step.after)) {
    return fail(result, make_error(ErrorCode::kBug, "a step with an unknown desired value was sent"));
  }
  const auto now = read_artifact_of(step, type_of(step), node_);
  if (const auto* error = std::get_if<Error>(&now)) return fail(result, *error);
  if (same_state(now, step.before) || type_of(step).may_begin_on(step, now)) return;
  if (after_other_steps && type_of(step).may_follow_from_other_steps(step.before, now)) return;
  result.outcome = StepOutcome::kStale;
  result.error =
      make_error(ErrorCode::kStalePlan, step.artifact.name + " has changed since the plan was made", "plan again");
}

void StepExecutor::ask_the_nodes_own_tools(const std::vector<Step>& steps, ApplyReply& reply) {
  std::map<std::string, std::vector<Step>> by_type;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!reply.results[i].error) by_type[steps[i].type].push_back(steps[i]);
  }
  const ChangesAhead ahead = changes_ahead(steps);
  for (const auto& [type, its_steps] : by_type) {
    for (auto& objection : registry_.find(type)->prepare(its_steps, ahead, node_)) {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].type != type || steps[i].artifact != objection.artifact) continue;
        fail(reply.results[i], objection.error);
      }
    }
  }
}

/// Also records the digests of the planned content: after an aborted run they show that the change was ours.
Result<void> StepExecutor::record_originals(const std::vector<Step>& steps, const ApplyReply& reply,
                                            Manifest& manifest) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (reply.results[i].error) continue;
    const Step& step = steps[i];
    auto& managed =
        manifest.artifacts.try_emplace(step.artifact, ManagedArtifact{step.type, "", step.before}).first->second;
    // An aborted run has written this content.
    if (const auto now = digest(step.before); managed.wrote(now)) managed.written_digest = now;
    managed.intended_digest = digest(step.after);
  }
  SPARK_CHECK(prepare_state_directory(node_));
  return write_manifest(manifest, node_);
}

/// Steps run in order. A step may begin unless a step that it needs, or an earlier step of its group, has failed.
bool StepExecutor::may_begin(const std::vector<Step>& steps, std::size_t index, const ApplyReply& reply) const {
  const Step& step = steps[index];
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto outcome = reply.results[i].outcome;
    const bool failed =
        reply.results[i].error || outcome == StepOutcome::kUndone || (i < index && outcome == StepOutcome::kNotDone);
    if (!failed) continue;
    if (needs(step, steps[i]) || (steps[i].group == step.group && outcome != StepOutcome::kDone)) return false;
  }
  return true;
}

void StepExecutor::carry_out_one(const std::vector<Step>& steps, std::size_t index, const Manifest& manifest,
                                 ApplyReply& reply) {
  const Step& step = steps[index];
  StepResult& result = reply.results[index];
  // The report names a file by its path, and a kernel parameter or a unit by its name in cluster.yaml.
  const bool is_file = step.artifact.name.starts_with('/');
  report_(is_file || step.resources.size() != 1 ? step.artifact.name : step.resources.front().str());
  // Compared again: earlier steps may have taken minutes. Activations are not compared: an earlier activation of the
  // same files may already have changed the artifact.
  if (!step.activates) compare(step, true, result);
  if (trial_ != nullptr && !result.error && !trial_->goes_on()) {
    fail(result, make_error(ErrorCode::kVerifyFailed, "the time to confirm the change has run out"));
  }
  if (result.error) return;
  Value intent = encode(step);
  intent.set("managed", managed_resources(step, manifest));
  if (auto journaled = journal_.append("intent", std::move(intent)); !journaled) {
    return fail(result, std::move(journaled).error());
  }
  // Steps on trial are one group, so that each waits for the one before it.
  if (step.activates && trial_ == nullptr && !is_text_artifact(step.artifact)) {
    auto end = type_of(step).begin(step.artifact, step.after, node_);
    if (!end) return note_outcome(step, failure(std::move(end).error()), result);
    if (*end) {
      begun_.emplace(BegunActivation{index, *std::move(end)});
      return;
    }
  }
  note_outcome(step, write(step, step.after), result);
}

void StepExecutor::note_outcome(const Step& step, Result<void> applied, StepResult& result) {
  if (applied) {
    result.outcome = StepOutcome::kDone;
    return;
  }
  fail(result, std::move(applied).error());
  // An activation is undone after the files of its group are restored.
  if (!step.activates) put_back(step, result);
}

/// Plans and records have tokens in place of secrets; the value is put in here, and nowhere else.
Result<void> StepExecutor::write(const Step& step, const Observation& content) {
  if (!concerns_secret(step)) return apply_artifact(step.artifact, content, type_of(step), node_);
  SPARK_TRY(const Observation file, secrets_.opened(content));
  SPARK_CHECK(apply_artifact(step.artifact, file, type_of(step), node_));
  if (std::holds_alternative<Absent>(file)) remove_empty_secret_directories(step.artifact, node_);
  return {};
}

void StepExecutor::put_back(const Step& step, StepResult& result) {
  // A type may have failed half-way. Writing a file either succeeds or changes nothing.
  const auto now = read_artifact_of(step, type_of(step), node_);
  if (!step.activates && same_state(now, step.before)) return;
  if (auto restored = write(step, step.before); !restored) {
    result.error->message += "; and it could not be restored: " + restored.error().describe();
  }
}

void StepExecutor::undo_one(const Step& step, StepResult& result) {
  result.outcome = StepOutcome::kUndone;
  auto undone = write(step, step.before);
  Value entry = describe(step);
  entry.set("outcome", to_string(result.outcome));
  if (!undone) {
    entry.set("error", undone.error().describe());
    result.error = std::move(undone).error();
  }
  // The step has been carried out; a full disk must not turn it into a failure now.
  (void)journal_.append("result", std::move(entry));
}

/// The intent of the next step brings the result of a finished one to the disk. A failure and what was undone for it
/// are there at once: until then, the journal says that these steps are done.
void StepExecutor::journal_result(const Step& step, const StepResult& result) {
  Value outcome = describe(step);
  outcome.set("outcome", to_string(result.outcome));
  if (result.error) {
    outcome.set("error", result.error->describe());
    (void)journal_.append("result", std::move(outcome));
  } else {
    (void)journal_.append_for_next_sync("result", std::move(outcome));
  }
}

void StepExecutor::conclude(const std::vector<Step>& steps, std::size_t index, ApplyReply& reply) {
  if (reply.results[index].error) undo_group(steps, index, reply);
  journal_result(steps[index], reply.results[index]);
}

/// Waits for the activation that goes on, if there is one.
void StepExecutor::end_activation(const std::vector<Step>& steps, ApplyReply& reply) {
  if (!begun_) return;
  const BegunActivation begun = *std::exchange(begun_, std::nullopt);
  // The wait may be long, and no intent follows that would bring the last result to the disk.
  (void)journal_.sync();
  note_outcome(steps[begun.index], begun.end(), reply.results[begun.index]);
  conclude(steps, begun.index, reply);
}

void StepExecutor::undo_group(const std::vector<Step>& steps, std::size_t failed, ApplyReply& reply) {
  for (const bool activates : {false, true}) {
    for (std::size_t i = failed; i-- > 0;) {
      const bool concerned = steps[i].group == steps[failed].group && steps[i].activates == activates;
      if (concerned && reply.results[i].outcome == StepOutcome::kDone) undo_one(steps[i], reply.results[i]);
    }
  }
  if (steps[failed].activates && reply.results[failed].outcome == StepOutcome::kFailed)
    put_back(steps[failed], reply.results[failed]);
}

namespace {

/// Records resources whose steps are all done in the manifest.
void record_resources(const std::vector<Step>& steps, const std::vector<StepResult>& results,
                      const std::map<ResourceId, Value>& after_steps, Manifest& manifest) {
  for (const auto& [id, value] : after_steps) {
    bool all_done = true;
    std::set<ArtifactId> artifacts;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& ids = steps[i].resources;
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) continue;
      all_done = all_done && results[i].outcome == StepOutcome::kDone;
      artifacts.insert(steps[i].artifact);
    }
    if (!all_done || artifacts.empty()) continue;
    if (value.is_null()) {
      manifest.resources.erase(id);
      continue;
    }
    auto& managed = manifest.resources[id];
    artifacts.insert(managed.artifacts.begin(), managed.artifacts.end());
    managed = ManagedResource{value, {artifacts.begin(), artifacts.end()}};
  }
}

bool all_done(const std::vector<StepResult>& results) {
  return std::all_of(results.begin(), results.end(),
                     [](const StepResult& result) { return result.outcome == StepOutcome::kDone; });
}

/// True if it recorded anything.
bool record(const std::vector<Step>& steps, const std::vector<StepResult>& results,
            const std::map<ResourceId, Value>& after_steps, Manifest& manifest) {
  bool wrote = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (results[i].outcome != StepOutcome::kDone) continue;
    auto& managed = manifest.artifacts[steps[i].artifact];
    managed.written_digest = digest(steps[i].after);
    managed.intended_digest.clear();
    wrote = true;
  }
  if (wrote) record_resources(steps, results, after_steps, manifest);
  return wrote;
}

/// A run must not stop between a file and its activation: an untried network file would take effect at the next boot.
bool may_stop_before(const std::vector<Step>& steps, std::size_t next, const ApplyReply& reply) {
  const auto of_same_group = [&](std::size_t i) { return steps[i].group == steps[next].group; };
  bool begun = false;
  bool activates = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    begun = begun || (of_same_group(i) && reply.results[i].outcome == StepOutcome::kDone);
    activates = activates || (of_same_group(i) && steps[i].activates);
  }
  return !begun || !activates;
}

/// Steps that a stop prevented stay intended. They show the next run that sparkplan left a resource incomplete.
std::vector<Step> without_what_was_stopped(const std::vector<Step>& steps, const ApplyReply& reply) {
  if (!reply.stopped) return steps;
  std::vector<Step> begun_steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool begun = reply.results[i].outcome != StepOutcome::kNotDone || reply.results[i].error;
    if (begun) begun_steps.push_back(steps[i]);
  }
  return begun_steps;
}

}  // namespace

/// A trial is all or nothing: an objection to one step stops all steps.
bool StepExecutor::begin_trial(ApplyReply& reply) {
  const bool objected = std::any_of(reply.results.begin(), reply.results.end(),
                                    [](const StepResult& result) { return result.error.has_value(); });
  if (objected) return false;
  if (const auto armed = trial_->arm(); !armed) {
    for (StepResult& result : reply.results) fail(result, armed.error());
    return false;
  }
  return true;
}

Result<ApplyReply> StepExecutor::carry_out(const std::vector<Step>& steps,
                                           const std::map<ResourceId, Value>& after_steps, Manifest& manifest) {
  ApplyReply reply;
  reply.results.resize(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) compare(steps[i], false, reply.results[i]);
  ask_the_nodes_own_tools(steps, reply);
  SPARK_CHECK(secrets_.prepare(steps));
  SPARK_CHECK(record_originals(steps, reply, manifest));
  if (trial_ != nullptr && !begin_trial(reply)) {
    forget_intentions(steps, manifest);
    SPARK_CHECK(write_manifest(manifest, node_));
    return reply;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (begun_ && !may_be_written_during(steps[begun_->index], steps[i])) end_activation(steps, reply);
    if (reply.results[i].error || !may_begin(steps, i, reply)) continue;
    // A trial is finished or undone, never left incomplete.
    if (trial_ == nullptr && may_stop_before(steps, i, reply)) reply.stopped = stop_asked_();
    if (reply.stopped) break;
    carry_out_one(steps, i, manifest, reply);
    const bool goes_on = begun_ && begun_->index == i;
    if (!goes_on) conclude(steps, i, reply);
  }
  end_activation(steps, reply);
  // A full disk must not turn steps that are done into failures.
  (void)journal_.sync();
  const bool waits_for_the_trial = trial_ != nullptr && all_done(reply.results);
  // The manifest is as before the first step, and on the disk. The confirmation or the rollback changes it.
  if (waits_for_the_trial) return reply;
  forget_intentions(without_what_was_stopped(steps, reply), manifest);
  if (trial_ != nullptr || !record(steps, reply.results, after_steps, manifest)) {
    // The reply contains the results of the steps, and must be sent even if the disk is full.
    (void)write_manifest(manifest, node_);
    return reply;
  }
  SPARK_CHECK(write_manifest(manifest, node_));
  return reply;
}

void forget_intentions(const std::vector<Step>& steps, Manifest& manifest) {
  for (const Step& step : steps) {
    const auto managed = manifest.artifacts.find(step.artifact);
    if (managed == manifest.artifacts.end()) continue;
    // An artifact whose step did not begin may still be as an earlier run left it.
    if (managed->second.intended_digest == digest(step.after)) managed->second.intended_digest.clear();
  }
}

void record_as_done(const std::vector<Step>& steps, const std::map<ResourceId, Value>& after_steps,
                    Manifest& manifest) {
  record(steps, std::vector<StepResult>(steps.size(), StepResult{{}, StepOutcome::kDone, {}}), after_steps, manifest);
}

}  // namespace sparkplan
