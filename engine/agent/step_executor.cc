#include "engine/agent/step_executor.h"

#include <set>
#include <utility>

#include "engine/agent/manifest_store.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

Value describe(const Step& step) {
  return Value::map({{"type", step.type, {}}, {"artifact", step.artifact.str(), {}}});
}

void fail(StepResult& result, Error error) {
  result.outcome = StepOutcome::kFailed;
  result.error = std::move(error);
}

bool contains_unknown(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present != nullptr && present->value.contains_unknown();
}

}  // namespace

StepExecutor::StepExecutor(const Registry& registry, LocalNode& node, Journal& journal, std::function<bool()> stop_asked)
    : registry_(registry), node_(node), journal_(journal), stop_asked_(std::move(stop_asked)) {}

const ResourceType& StepExecutor::type_of(const Step& step) const { return *registry_.find(step.type); }

void StepExecutor::compare(const Step& step, StepResult& result) const {
  result.artifact = step.artifact;
  if (registry_.find(step.type) == nullptr) {
    return fail(result, Error{ErrorCode::kUnsupported, "this agent has no resource type " + step.type, {}, {}, ""});
  }
  if (contains_unknown(step.after) || std::holds_alternative<Error>(step.after)) {
    return fail(result, Error{ErrorCode::kBug, "a step without a settled outcome was sent", {}, {}, ""});
  }
  const auto now = read_artifact(step.artifact, type_of(step), node_);
  if (const auto* error = std::get_if<Error>(&now)) return fail(result, *error);
  if (same_state(now, step.before)) return;
  result.outcome = StepOutcome::kStale;
  result.error = Error{ErrorCode::kStalePlan, step.artifact.name + " is no longer as it was when the plan was made", {}, {},
                       "plan again"};
}

Result<void> StepExecutor::record_originals(const std::vector<Step>& steps, const ApplyReply& reply, Manifest& manifest) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (reply.results[i].error || manifest.artifacts.count(steps[i].artifact) > 0) continue;
    manifest.artifacts[steps[i].artifact] = ManagedArtifact{steps[i].type, "", steps[i].before};
  }
  SPARK_CHECK(prepare_state_directory(node_));
  return write_manifest(manifest, node_);
}

void StepExecutor::carry_out_one(const Step& step, StepResult& result) {
  Value intent = describe(step);
  intent.set("before", encode(step.before));
  intent.set("after", encode(step.after));
  if (auto journaled = journal_.append("intent", std::move(intent)); !journaled) {
    return fail(result, std::move(journaled).error());
  }
  auto applied = apply_artifact(step.artifact, step.after, type_of(step), node_);
  if (applied) {
    result.outcome = StepOutcome::kDone;
    return;
  }
  fail(result, std::move(applied).error());
  // A type may have failed half-way; a file never does.
  const auto now = read_artifact(step.artifact, type_of(step), node_);
  if (same_state(now, step.before)) return;
  if (auto restored = apply_artifact(step.artifact, step.before, type_of(step), node_); !restored) {
    result.error->context.push_back("and it could not be put back: " + restored.error().describe());
  }
}

void StepExecutor::undo_group(const std::vector<Step>& steps, std::size_t failed, ApplyReply& reply) {
  for (std::size_t i = failed; i-- > 0;) {
    auto& result = reply.results[i];
    if (steps[i].group != steps[failed].group || result.outcome != StepOutcome::kDone) continue;
    result.outcome = StepOutcome::kUndone;
    auto undone = apply_artifact(steps[i].artifact, steps[i].before, type_of(steps[i]), node_);
    if (!undone) result.error = std::move(undone).error();
  }
}

Result<ApplyReply> StepExecutor::carry_out(const std::vector<Step>& steps, Manifest& manifest) {
  ApplyReply reply;
  reply.results.resize(steps.size());
  std::set<std::string> failed_groups;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    compare(steps[i], reply.results[i]);
    if (reply.results[i].error) failed_groups.insert(steps[i].group);
  }
  SPARK_CHECK(record_originals(steps, reply, manifest));
  for (std::size_t i = 0; i < steps.size() && !reply.stopped; ++i) {
    auto& result = reply.results[i];
    if (result.error || failed_groups.count(steps[i].group) > 0) continue;
    if (stop_asked_()) {
      reply.stopped = true;
      break;
    }
    carry_out_one(steps[i], result);
    if (result.outcome == StepOutcome::kFailed) {
      failed_groups.insert(steps[i].group);
      undo_group(steps, i, reply);
    }
    Value outcome = describe(steps[i]);
    outcome.set("outcome", to_string(result.outcome));
    if (result.error) outcome.set("error", result.error->describe());
    // The act has happened; a full disk must not turn it into a failure now.
    (void)journal_.append("result", std::move(outcome));
  }
  bool wrote = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (reply.results[i].outcome != StepOutcome::kDone) continue;
    manifest.artifacts[steps[i].artifact].written_digest = digest(steps[i].after);
    wrote = true;
  }
  if (wrote) SPARK_CHECK(write_manifest(manifest, node_));
  return reply;
}

}  // namespace sparkplan
