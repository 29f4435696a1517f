// The trial that `tune` makes from a run of NCCL.
#include "engine/tune/trial_of_run.h"

#include "tests/support/catch.h"
#include "tests/support/has.h"

namespace sparkplan {
namespace {

using test::has;

const std::vector<std::string> kRanks{"spark-01", "spark-02"};

/// One operation, in which the second rank finds so many wrong elements.
NcclOutcome outcome_with(std::int64_t wrong) {
  const RunCollective run{Collective::kAllReduce, 4096, 1, 20, true, 1};
  const std::string first = wrong > 0 ? "element 17 is 3, not 6" : "";
  NcclOutcome outcome;
  outcome.measured = {measurement_of(run, 4096, {{4096, 0.5, 0, "", {}}, {4096, 0.5, wrong, first, {}}}, kRanks)};
  return outcome;
}

}  // namespace

TEST_CASE("tune: a rank that finds wrong data is not blamed for them, because any rank may have sent them") {
  const TuneTrial trial = trial_of(outcome_with(2), kRanks);
  CHECK(trial.trouble ==
        "2 wrong elements, found first on spark-02: element 17 is 3, not 6; any rank may have sent them");
  CHECK_FALSE(trial.ends_run);
  auto of_long_text = outcome_with(2);
  of_long_text.measured[0].first_wrong = "spark-02: " + std::string(5000, 'x');
  CHECK(has(trial_of(of_long_text, kRanks).trouble, "any rank may have sent them"));
  CHECK(trial_of(outcome_with(0), kRanks).trouble.empty());
}

TEST_CASE("tune: the trial of a failed run names the rank, and a lost rank or one that still runs ends the search") {
  NcclOutcome outcome;
  CHECK(trial_of(outcome, kRanks).trouble == "nothing was measured");
  outcome.failure =
      NcclFailure{NcclTrouble::kConnection, NcclPhase::kRun, 1, {}, {ErrorCode::kFailed, "it is gone", {}, {}, ""}, {}};
  CHECK(trial_of(outcome, kRanks).trouble == "spark-02: it is gone");
  CHECK(trial_of(outcome, kRanks).ends_run);
  outcome.failure.reset();
  outcome.left_running = {"spark-01"};
  CHECK(trial_of(outcome, kRanks).trouble == "a rank may still be running on spark-01");
  CHECK(trial_of(outcome, kRanks).ends_run);
}

}  // namespace sparkplan
