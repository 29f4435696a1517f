#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/named_enum.h"
#include "engine/tune/candidates.h"
#include "engine/tune/comparison.h"

/// The search of `tune`: which pairs are measured, in which order, and what is accepted. It reaches no machine: the
/// caller measures. docs/tune.md describes it.
namespace sparkplan {

/// One run of NCCL with one setting.
struct TuneTrial {
  TunePoints points;
  double seconds = 0;     ///< The whole run, with its start: it counts against the budget.
  std::string trouble;    ///< Why there is no usable measurement; empty: none.
  bool ends_run = false;  ///< With `trouble`: no further setting can be measured either.
};
using MeasureTrial = std::function<TuneTrial(const NcclVariables&)>;

enum class TunePhase : std::uint8_t {
  kScreening,   ///< Few pairs, to find the most promising value of a knob.
  kConfirming,  ///< The pairs that decide.
  kTogether,    ///< All accepted values against none.
};
constexpr EnumNames<3> names_of(TunePhase /*phase*/) { return {"screening", "confirming", "together"}; }

/// One measured pair.
struct PastPair {
  TunePhase phase = TunePhase::kScreening;
  NcclVariables before;  ///< Beyond what cluster.yaml sets.
  NcclVariables after;
  bool after_first = false;  ///< The candidate ran first.
  TunePair pair;
};

enum class TuneVerdict : std::uint8_t {
  kAccepted,
  kRefused,
  kFailed,       ///< NCCL did not run with it, or its data were wrong.
  kNotMeasured,  ///< The budget had ended.
};
constexpr EnumNames<4> names_of(TuneVerdict /*verdict*/) { return {"accepted", "refused", "failed", "not_measured"}; }

/// One value of a knob, as it was tried last.
struct TriedSetting {
  std::string knob;
  NcclVariables variables;
  TuneVerdict verdict = TuneVerdict::kNotMeasured;
  std::string reason;         ///< Empty for an accepted one.
  bool confirmed = false;     ///< `comparison` is of the pairs that decide; else of the first pairs.
  TuneComparison comparison;  ///< Against what counted at that time.
};

struct TuneSearch {
  NcclVariables accepted;
  std::vector<TriedSetting> tried;  ///< Each value of each knob once, in the order of the knobs.
  std::vector<PastPair> history;    ///< In the order of time.
  /// If several values were accepted and there was time: all of them against none.
  std::optional<TuneComparison> together;
  std::string together_refusal;  ///< Why nothing is accepted in spite of accepted values; empty: no reason.
  std::size_t decisions = 0;     ///< The most decisions that this run can take: the chance is divided by it.
  std::size_t pairs_to_decide = 0;
  double seconds = 0;        ///< Of all runs.
  bool out_of_time = false;  ///< The budget ended before the search.
  std::string trouble;       ///< Why the search ended early; empty: it did not.
};

/// Looks at one knob after the other, twice if the first round accepts a value. Of each knob, screening finds the most
/// promising value; new pairs then decide. If they refuse it, the next promising value follows: each value is decided
/// on at most once per round. The two runs of a pair change their order from pair to pair. No pair begins that the time
/// of the longest one so far would carry beyond `budget` seconds. Ends early if a run with what counts so far fails.
TuneSearch search_settings(const std::vector<TuneKnob>& knobs, double budget, const MeasureTrial& measure);

}  // namespace sparkplan
