#include "engine/verify/levels/nccl_measurement.h"

#include <algorithm>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kSmallestSize = std::int64_t{1} << 20;
/// Of ranks that end together, no time is shorter than this share of the longest one.
constexpr double kLeastShareOfLongest = 0.8;

}  // namespace

std::optional<std::size_t> place_of_other_size(const RunCollective& run, const std::vector<CollectiveResult>& results) {
  const auto bytes = collective_shape(run.collective, run.bytes, static_cast<int>(results.size())).bytes;
  const auto other = std::ranges::find_if(results, [&](const CollectiveResult& one) { return one.bytes != bytes; });
  if (other == results.end()) return std::nullopt;
  return static_cast<std::size_t>(other - results.begin());
}

NcclMeasurement measurement_of(const RunCollective& run, std::int64_t asked_bytes,
                               const std::vector<CollectiveResult>& results, const std::vector<std::string>& names) {
  const auto ranks = static_cast<int>(results.size());
  const auto shape = collective_shape(run.collective, run.bytes, ranks);
  NcclMeasurement measured{run.collective, asked_bytes, shape.bytes, run.iterations, 0, {}, 0, "", run.in_place};
  const auto first = std::min_element(results.begin(), results.end(),
                                      [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& result = results[i];
    measured.seconds += result.seconds / ranks;
    measured.longest = std::max(measured.longest, result.seconds);
    if (result.wrong <= 0) continue;
    if (measured.wrong == 0) measured.first_wrong = names.at(i) + ": " + result.first_wrong;
    // A rank may report any number. Without the bound, the sum of two could overflow and look like correct data.
    measured.wrong += std::clamp<std::int64_t>(result.wrong, 1, std::max<std::int64_t>(shape.receive, 1));
  }
  // A false time of one rank must not make the others fast: see docs/nccl-test.md.
  if (ranks > 0 && ends_together(run.collective) && first->seconds < measured.longest * kLeastShareOfLongest) {
    measured.seconds = measured.longest;
    measured.early = names.at(static_cast<std::size_t>(first - results.begin()));
  }
  measured.bandwidth = collective_bandwidth(run.collective, measured.bytes, ranks, measured.seconds);
  return measured;
}

std::string wrong_data_text(const NcclMeasurement& measured) {
  return std::to_string(measured.wrong) + " wrong elements" + (measured.in_place ? " in place" : "") +
         ", found first on " + shown_text(measured.first_wrong) + "; any rank may have sent them";
}

std::int64_t memory_of_rank(const PreparedRank& rank, int ranks_on_node) {
  return rank.unified_memory ? rank.memory_free_bytes / std::max(ranks_on_node, 1) : rank.memory_free_bytes;
}

std::int64_t size_that_fits(Collective collective, std::int64_t bytes, int ranks, std::int64_t free_bytes) {
  constexpr std::int64_t kElementBytes = 4;
  for (auto size = bytes; size >= std::min(bytes, kSmallestSize) && size > 0; size /= 2) {
    const auto shape = collective_shape(collective, size, ranks);
    if ((shape.send + shape.receive) * kElementBytes <= free_bytes / 5) return size;
  }
  return 0;
}

}  // namespace sparkplan
