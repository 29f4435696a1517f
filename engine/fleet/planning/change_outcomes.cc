#include "engine/fleet/planning/change_outcomes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/fleet/planning/plan_lookup.h"
#include "engine/plan/repeated_error.h"

namespace sparkplan {
namespace {

/// The number of failures that `steps` can cause.
std::size_t resources_of(const std::vector<Step>& steps) {
  std::size_t count = 0;
  for (const Step& step : steps) count += step.resources.size();
  return count;
}

}  // namespace

LeftToDo left_to_do(const NodePlan& plan) {
  LeftToDo left;
  left.waiting.insert(plan.waiting.begin(), plan.waiting.end());
  for (const auto& [id, change] : changes_by_id(plan)) left.all.insert(id);
  // A change that needs a failed one is blocked, and no list of changes contains it.
  for (const BlockedResource& blocked : plan.blocked) left.all.insert(blocked.id);
  return left;
}

const ChangeOutcome& ChangeOutcomes::of(const ResourceId& id) const {
  static const ChangeOutcome nothing;
  const auto found = changes_.find(id);
  return found == changes_.end() ? nothing : found->second;
}

void ChangeOutcomes::approve(const std::set<ResourceId>& ids) {
  for (auto& [id, change] : changes_) change.approved = false;
  for (const auto& id : ids) changes_[id].approved = true;
}

bool ChangeOutcomes::approves(const Step& step) const {
  return std::ranges::all_of(step.resources, [&](const ResourceId& id) { return of(id).approved; });
}

void ChangeOutcomes::send(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    for (const auto& id : step.resources) changes_[id].sent = true;
  }
}

void ChangeOutcomes::settle_sent() {
  for (auto& [id, change] : changes_) change.sent = false;
}

void ChangeOutcomes::receive(const std::vector<Step>& steps, const ApplyReply& reply) {
  settle_sent();
  std::set<ResourceId> unfinished;
  const std::size_t most_failures = resources_of(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& result = reply.results[i];
    const bool done = result.outcome == StepOutcome::kDone;
    wrote_ = wrote_ || done;
    stale_ = stale_ || result.outcome == StepOutcome::kStale;
    for (const auto& id : steps[i].resources) {
      if (done) changes_[id].artifacts.insert(steps[i].artifact);
      if (!done) unfinished.insert(id);
      if (result.error) fail(id, repeated_error(*result.error, most_failures));
    }
  }
  for (const Step& step : steps) {
    for (const auto& id : step.resources) {
      if (!unfinished.contains(id)) changes_[id].carried_out = true;
    }
  }
}

bool ChangeOutcomes::may_have_changed() const {
  return wrote_ || std::ranges::any_of(changes_, [](const auto& one) { return one.second.sent; });
}

bool ChangeOutcomes::fail(const ResourceId& id, Error error) {
  auto& failure = changes_[id].failure;
  if (failure) return false;
  failure = std::move(error);
  return true;
}

bool ChangeOutcomes::go_stale(const ResourceId& id, Error error) {
  stale_ = true;
  return fail(id, std::move(error));
}

const Error* ChangeOutcomes::why_stale() const {
  for (const auto& [id, change] : changes_) {
    if (change.failure && change.failure->code == ErrorCode::kStalePlan) return &*change.failure;
  }
  return nullptr;
}

void ChangeOutcomes::roll_back(const std::vector<Step>& steps, const Error& error) {
  settle_sent();
  const Error of_each = repeated_error(error, resources_of(steps));
  for (const Step& step : steps) {
    for (const auto& id : step.resources) fail(id, of_each);
  }
}

std::map<ResourceId, Error> ChangeOutcomes::failures() const {
  std::map<ResourceId, Error> failures;
  for (const auto& [id, change] : changes_) {
    if (change.failure) failures.emplace(id, *change.failure);
  }
  return failures;
}

std::size_t ChangeOutcomes::progress() const {
  std::size_t count = 0;
  for (const auto& [id, change] : changes_) count += (change.carried_out ? 1U : 0U) + (change.failure ? 1U : 0U);
  return count;
}

Outcome ChangeOutcomes::reported(const ResourceId& id, const LeftToDo& left, bool lost) const {
  const ChangeOutcome& change = of(id);
  if (change.failure) return Outcome::kFailed;
  if (change.sent) return Outcome::kUnknown;
  if (!change.carried_out && lost) return Outcome::kNotDone;
  const bool finished = change.carried_out && !left.waiting.contains(id);
  return !finished && left.all.contains(id) ? Outcome::kNotDone : Outcome::kDone;
}

}  // namespace sparkplan
