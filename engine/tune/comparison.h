#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/collective.h"

/// The comparison of two settings of NCCL by paired runs. Everything here is pure. docs/tune.md explains the rule.
namespace sparkplan {

/// One operation at one size.
struct TunePoint {
  Collective collective = Collective::kAllReduce;
  std::int64_t bytes = 0;
  double seconds = 0;  ///< Of one operation.
};
using TunePoints = std::vector<TunePoint>;

/// Two runs that follow each other.
struct TunePair {
  TunePoints before;  ///< Of the setting that counts so far.
  TunePoints after;   ///< Of the candidate.
};

/// How much faster the candidate is at one point: 1.05 is 5 %. The median of the pairs.
struct PointGain {
  Collective collective = Collective::kAllReduce;
  std::int64_t bytes = 0;
  double gain = 1;
  std::size_t slower = 0;  ///< The pairs in which it is slower than kLeastPointGain permits.
};

struct TuneComparison {
  std::size_t pairs = 0;
  double gain = 1;  ///< The median of the pairs; each pair has the geometric mean of its points.
  double low = 0;   ///< The 95 % interval of that median; 0 to infinity with too few pairs for one.
  double high = 0;
  double chance = 1;  ///< The probability of such pairs if the candidate is not faster.
  std::vector<PointGain> points = {};
};

/// A gain below it is not worth a setting.
inline constexpr double kLeastTuneGain = 1.01;
/// No point may be slower than this.
inline constexpr double kLeastPointGain = 0.98;
/// A point that is slower than this in the median, and slower in each of kPairsOfClearLoss pairs or more, is a clear
/// loss: the first pairs refuse the candidate.
inline constexpr double kClearLoss = 0.9;
inline constexpr std::size_t kPairsOfClearLoss = 3;
/// The probability that a whole run accepts a setting that is not faster.
inline constexpr double kFalseAcceptance = 0.01;
inline constexpr std::size_t kFewestTunePairs = 10;

/// The geometric mean of the candidate's gains at all points. Nothing if the runs have other points, or a time that is
/// no positive number: a rank can report anything.
std::optional<double> gain_of(const TunePair& pair);

/// The one-sided Wilcoxon signed-rank test: the probability that chance alone makes the positive numbers as prevalent
/// as here. Exact, with mean ranks for equal sizes. A zero counts as negative. 1 without numbers, or with more than
/// 200.
double signed_rank_chance(const std::vector<double>& differences);

/// Pairs without a gain are left out, and so are those with other points than the first one.
TuneComparison compare_pairs(const std::vector<TunePair>& pairs);

/// The pairs that a decision takes, if a run makes `decisions` of them: kFewestTunePairs or more. Two pairs against the
/// candidate still allow a yes.
std::size_t pairs_for(std::size_t decisions);

/// Empty if the candidate is accepted, as one of `decisions`; else the reason. See docs/tune.md.
std::string refusal_of(const TuneComparison& comparison, std::size_t decisions);

/// Why no further pairs can make the answer a yes; empty if they can. `wanted` is the number of all pairs.
std::string hopeless_reason(const std::vector<TunePair>& pairs, std::size_t wanted, std::size_t decisions);

/// The point with the largest clear loss: "all_reduce of 8 KiB is 25 % slower"; empty without one. Noise at one point
/// of one pair is none.
std::string clear_loss_of(const TuneComparison& comparison);

/// "25 % slower" for a gain of 0.8: the time grows by a quarter.
std::string slower_text(double gain);

}  // namespace sparkplan
