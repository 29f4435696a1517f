// The outcome of each change, from the approval to the report.
#include "engine/fleet/planning/change_outcomes.h"
#include "engine/fleet/session/fleet_session.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const ResourceId kFirstResource{"sysctl", "first"};
const ResourceId kSecondResource{"sysctl", "second"};

Step step_of(const std::string& file, std::vector<ResourceId> resources) {
  Step step;
  step.artifact = {"file", file};
  step.resources = std::move(resources);
  return step;
}

StepResult result_of(StepOutcome outcome, const std::string& error = {}) {
  if (error.empty()) return {{}, outcome, std::nullopt};
  return {{}, outcome, Error{ErrorCode::kFailed, error, {}, std::nullopt, ""}};
}

/// A plan that still contains the changes.
NodePlan plan_with(const std::vector<ResourceId>& ids) {
  NodePlan plan;
  for (const auto& id : ids) plan.changes.push_back({id, Action::kUpdate, Origin::kConfig, {}, {}, {}, {}, ""});
  return plan;
}

}  // namespace

TEST_CASE("a change is done when all its steps are done") {
  ChangeOutcomes outcomes;
  const std::vector<Step> steps{step_of("a", {kFirstResource}), step_of("b", {kFirstResource, kSecondResource})};
  outcomes.send(steps);
  CHECK(outcomes.reported(kFirstResource, left_to_do(plan_with({kFirstResource})), true) == Outcome::kUnknown);
  CHECK_FALSE(outcomes.wrote());
  CHECK(outcomes.may_have_changed());
  outcomes.receive(steps, {{result_of(StepOutcome::kDone), result_of(StepOutcome::kUndone)}, false});
  CHECK_FALSE(outcomes.of(kFirstResource).carried_out);
  CHECK(outcomes.of(kFirstResource).artifacts.size() == 1);
  CHECK(outcomes.wrote());
  CHECK(outcomes.reported(kFirstResource, left_to_do(plan_with({kFirstResource})), false) == Outcome::kNotDone);
  CHECK(outcomes.reported(kFirstResource, {}, false) == Outcome::kDone);
  CHECK(outcomes.reported(kFirstResource, {}, true) == Outcome::kNotDone);
  outcomes.receive(steps, {{result_of(StepOutcome::kDone), result_of(StepOutcome::kDone)}, false});
  CHECK(outcomes.of(kFirstResource).carried_out);
  CHECK(outcomes.of(kSecondResource).carried_out);
  CHECK(outcomes.reported(kFirstResource, {}, true) == Outcome::kDone);
}

TEST_CASE("the first failure of a change stays, also after its steps are done") {
  ChangeOutcomes outcomes;
  const std::vector<Step> steps{step_of("a", {kFirstResource})};
  outcomes.receive(steps, {{result_of(StepOutcome::kStale, "it changed")}, false});
  CHECK(outcomes.any_stale());
  CHECK_FALSE(outcomes.fail(kFirstResource, {ErrorCode::kFailed, "later", {}, std::nullopt, ""}));
  outcomes.receive(steps, {{result_of(StepOutcome::kDone)}, false});
  CHECK(outcomes.failures().at(kFirstResource).message == "it changed");
  CHECK(outcomes.reported(kFirstResource, {}, false) == Outcome::kFailed);
  CHECK(outcomes.of(kFirstResource).carried_out);
}

TEST_CASE("a rolled back step fails its changes and is no longer awaited") {
  ChangeOutcomes outcomes;
  const std::vector<Step> steps{step_of("a", {kFirstResource})};
  outcomes.send(steps);
  const auto before = outcomes.progress();
  outcomes.roll_back(steps, {ErrorCode::kVerifyFailed, "unreachable", {}, std::nullopt, ""});
  CHECK(outcomes.progress() == before + 1);
  CHECK(outcomes.reported(kFirstResource, {}, true) == Outcome::kFailed);
}

TEST_CASE("a long error of a step is cut where it fails thousands of changes") {
  std::vector<ResourceId> ids;
  for (int i = 0; i < 10'000; ++i) ids.push_back({"hosts", std::to_string(i)});
  const std::vector<Step> steps{step_of("a", ids)};
  const std::string words = "the disk is full " + std::string(4000, 'm');
  const auto bytes_of = [](const ChangeOutcomes& outcomes) {
    std::size_t bytes = 0;
    for (const auto& [id, error] : outcomes.failures()) bytes += error.message.size();
    return bytes;
  };
  ChangeOutcomes outcomes;
  outcomes.receive(steps, {{result_of(StepOutcome::kFailed, words)}, false});
  CHECK(outcomes.failures().size() == ids.size());
  CHECK(outcomes.failures().begin()->second.message.starts_with("the disk is full"));
  CHECK(bytes_of(outcomes) < std::size_t{3} << 20);
  ChangeOutcomes undone;
  undone.roll_back(steps, {ErrorCode::kFailed, words, {}, std::nullopt, ""});
  CHECK(bytes_of(undone) < std::size_t{3} << 20);
  ChangeOutcomes of_one;
  of_one.receive({step_of("a", {kFirstResource})}, {{result_of(StepOutcome::kFailed, words)}, false});
  CHECK(of_one.failures().at(kFirstResource).message == words);
}

TEST_CASE("a step is approved if all its changes are") {
  ChangeOutcomes outcomes;
  outcomes.approve({kFirstResource, kSecondResource});
  CHECK(outcomes.approves(step_of("a", {kFirstResource, kSecondResource})));
  outcomes.approve({kSecondResource});
  CHECK_FALSE(outcomes.approves(step_of("a", {kFirstResource, kSecondResource})));
  CHECK(outcomes.approves(step_of("a", {})));
}

TEST_CASE("equal rosters are kept once, and a flood of different ones stays apart") {
  SharedRosters rosters;
  const auto first = rosters.share({"lab", "u", 1, {}}).roster;
  CHECK(rosters.share({"lab", "u", 1, {}}).roster == first);
  for (std::int64_t generation = 2; generation < 100; ++generation) {
    CHECK(rosters.share({"lab", "u", generation, {}}).roster->generation == generation);
  }
  CHECK(rosters.share({"lab", "u", 1, {}}).roster == first);
}

}  // namespace sparkplan
