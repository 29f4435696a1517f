#include "engine/tune/trial_of_run.h"

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"

namespace sparkplan {

TuneTrial trial_of(const NcclOutcome& outcome, const std::vector<std::string>& ranks) {
  TuneTrial trial;
  if (outcome.failure) {
    const auto& failure = *outcome.failure;
    trial.trouble = ranks.at(failure.place) + ": " + shown_text(failure.error.describe());
    trial.ends_run = failure.trouble == NcclTrouble::kConnection || failure.trouble == NcclTrouble::kStopped;
  }
  for (const NcclMeasurement& one : outcome.measured) {
    trial.points.push_back({one.collective, one.bytes, one.seconds});
    if (one.wrong > 0) trial.trouble = wrong_data_text(one);
  }
  if (trial.trouble.empty() && trial.points.empty()) trial.trouble = "nothing was measured";
  if (!outcome.left_running.empty()) {
    trial.trouble = "a rank may still be running on " + fold_names(outcome.left_running);
    trial.ends_run = true;
  }
  return trial;
}

}  // namespace sparkplan
