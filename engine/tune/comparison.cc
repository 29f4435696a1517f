#include "engine/tune/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/verify/check.h"
#include "engine/verify/nccl_choice.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostDifferences = 200;
constexpr double kInterval = 0.95;
/// The pairs beyond those that would do if the candidate were faster in each.
constexpr std::size_t kSparePairs = 2;

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Twice the rank of each size: 2, 4, 6 ... Equal sizes have the mean of their ranks.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& differences) {
  std::vector<std::size_t> order(differences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size_at = [&](std::size_t at) { return std::fabs(differences[order[at]]); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::fabs(differences[a]) < std::fabs(differences[b]); });
  std::vector<std::size_t> ranks(differences.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && size_at(end) <= size_at(first)) ++end;
    for (std::size_t at = first; at < end; ++at) ranks[order[at]] = first + 1 + end;
    first = end;
  }
  return ranks;
}

/// The 95 % interval of the median: the order statistics whose binomial tails are below 2.5 % each.
void set_interval(std::vector<double> gains, TuneComparison& comparison) {
  std::sort(gains.begin(), gains.end());
  const auto count = static_cast<double>(gains.size());
  double mass = std::exp2(-count);
  double tail = mass;
  std::size_t outside = 0;  // The values on each side that are left out.
  while (outside < gains.size() / 2 && tail <= (1 - kInterval) / 2) {
    ++outside;
    mass *= (count - static_cast<double>(outside) + 1) / static_cast<double>(outside);
    tail += mass;
  }
  comparison.low = outside == 0 ? 0 : gains[outside - 1];
  comparison.high = outside == 0 ? std::numeric_limits<double>::infinity() : gains[gains.size() - outside];
}

bool has_points(const TunePoints& measured, const std::vector<PointGain>& points) {
  return std::equal(measured.begin(), measured.end(), points.begin(), points.end(),
                    [](const TunePoint& one, const PointGain& other) {
                      return one.collective == other.collective && one.bytes == other.bytes;
                    });
}

double allowed_chance(std::size_t decisions) {
  return kFalseAcceptance / static_cast<double>(std::max<std::size_t>(decisions, 1));
}

std::string loss_text(const PointGain& point) {
  return std::string(to_string(point.collective)) + " of " + size_text(point.bytes) + " is " + slower_text(point.gain);
}

}  // namespace

std::optional<double> gain_of(const TunePair& pair) {
  if (pair.before.empty() || pair.before.size() != pair.after.size()) return std::nullopt;
  double sum = 0;
  for (std::size_t at = 0; at < pair.before.size(); ++at) {
    const TunePoint& before = pair.before[at];
    const TunePoint& after = pair.after[at];
    const bool same = before.collective == after.collective && before.bytes == after.bytes;
    if (!same || !is_time(before.seconds) || !is_time(after.seconds)) return std::nullopt;
    sum += std::log(before.seconds) - std::log(after.seconds);
  }
  return std::exp(sum / static_cast<double>(pair.before.size()));
}

double signed_rank_chance(const std::vector<double>& differences) {
  if (differences.empty() || differences.size() > kMostDifferences) return 1;
  const auto ranks = doubled_ranks(differences);
  const std::size_t all = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::size_t positive = 0;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (differences[at] > 0) positive += ranks[at];
  }
  // The distribution of the sum if each sign is a coin toss.
  std::vector<double> chances(all + 1, 0.0);
  chances[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t sum = all + 1; sum-- > 0;) {
      chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
    }
  }
  return std::min(std::accumulate(chances.begin() + static_cast<std::ptrdiff_t>(positive), chances.end(), 0.0), 1.0);
}

TuneComparison compare_pairs(const std::vector<TunePair>& pairs) {
  TuneComparison comparison;
  std::vector<double> gains;
  std::vector<double> logs;
  std::vector<std::vector<double>> of_points;
  for (const TunePair& pair : pairs) {
    const auto gain = gain_of(pair);
    if (!gain) continue;
    if (comparison.points.empty()) {
      for (const TunePoint& point : pair.before) comparison.points.push_back({point.collective, point.bytes, 1});
      of_points.resize(pair.before.size());
    }
    // Short memory, which a node only has to claim, changes the sizes of a run.
    if (!has_points(pair.before, comparison.points)) continue;
    gains.push_back(*gain);
    logs.push_back(std::log(*gain));
    for (std::size_t at = 0; at < of_points.size(); ++at) {
      of_points[at].push_back(pair.before[at].seconds / pair.after[at].seconds);
    }
  }
  comparison.pairs = gains.size();
  if (gains.empty()) return comparison;
  comparison.gain = median(gains);
  comparison.chance = signed_rank_chance(logs);
  set_interval(gains, comparison);
  for (std::size_t at = 0; at < of_points.size(); ++at) {
    PointGain& point = comparison.points[at];
    point.gain = median(of_points[at]);
    point.slower = static_cast<std::size_t>(
        std::count_if(of_points[at].begin(), of_points[at].end(), [](double gain) { return gain < kLeastPointGain; }));
  }
  return comparison;
}

std::size_t pairs_for(std::size_t decisions) {
  const auto least = static_cast<std::size_t>(std::ceil(-std::log2(allowed_chance(decisions))));
  return std::max(kFewestTunePairs, least + kSparePairs);
}

std::string refusal_of(const TuneComparison& comparison, std::size_t decisions) {
  if (comparison.pairs < kFewestTunePairs) return "too few pairs";
  if (comparison.chance > allowed_chance(decisions)) return "within the noise";
  if (comparison.gain < kLeastTuneGain) return "the gain is below 1 %";
  for (const PointGain& point : comparison.points) {
    if (point.gain < kLeastPointGain) return loss_text(point);
  }
  return "";
}

std::string hopeless_reason(const std::vector<TunePair>& pairs, std::size_t wanted, std::size_t decisions) {
  std::vector<double> logs;
  for (const TunePair& pair : pairs) {
    const auto gain = gain_of(pair);
    logs.push_back(gain ? std::log(*gain) : 0);
  }
  // The best that can still come: pairs with large gains.
  while (logs.size() < wanted) logs.push_back(std::numeric_limits<double>::max());
  const TuneComparison comparison = compare_pairs(pairs);
  if (signed_rank_chance(logs) > allowed_chance(decisions)) {
    return comparison.gain < kLeastTuneGain ? "the gain is below 1 %" : "within the noise";
  }
  for (const PointGain& point : comparison.points) {
    if (point.slower > wanted / 2) return loss_text(point);
  }
  return "";
}

std::string clear_loss_of(const TuneComparison& comparison) {
  if (comparison.pairs < kPairsOfClearLoss) return "";
  const PointGain* worst = nullptr;
  for (const PointGain& point : comparison.points) {
    if (point.gain >= kClearLoss || point.slower < comparison.pairs) continue;
    if (worst == nullptr || point.gain < worst->gain) worst = &point;
  }
  return worst == nullptr ? "" : loss_text(*worst);
}

std::string slower_text(double gain) { return number_text((1 / gain - 1) * 100) + " % slower"; }

}  // namespace sparkplan
