#include "engine/nccl/pattern.h"

#include <algorithm>

namespace sparkplan::nccl {
namespace {

/// 0 to 63; adjacent elements differ, and so do equal places of two runs.
std::uint32_t place_value(std::int64_t pattern, std::int64_t index) {
  const auto place = static_cast<std::uint32_t>(index) ^ (static_cast<std::uint32_t>(pattern) * 2246822507U);
  const auto mixed = place * 2654435761U;
  return (mixed ^ (mixed >> 15)) >> 26;
}

/// Different for each rank: a sum shows if one rank is missing and another is counted twice.
std::uint32_t sender_value(int sender) { return static_cast<std::uint32_t>(sender) * 3U + 1U; }

std::string number(float value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<float>(whole) == value ? std::to_string(whole) : std::to_string(value);
}

std::vector<ExpectedStretch> expected_of_alltoallv(const CollectiveShape& shape, int rank, int ranks) {
  std::vector<ExpectedStretch> stretches;
  std::int64_t begin = 0;
  for (int sender = 0; sender < ranks; ++sender) {
    std::int64_t source = 0;
    for (int peer = 0; peer < rank; ++peer) source += alltoallv_part(shape, sender, peer, ranks);
    const auto length = alltoallv_part(shape, sender, rank, ranks);
    stretches.push_back({begin, length, source, sender});
    begin += length;
  }
  return stretches;
}

}  // namespace

float sent_value(std::int64_t pattern, int sender, std::int64_t index) {
  return static_cast<float>(place_value(pattern, index) + sender_value(sender));
}

void fill(std::span<float> into, std::int64_t pattern, int sender, std::int64_t index) {
  for (float& element : into) element = sent_value(pattern, sender, index++);
}

std::vector<ExpectedStretch> expected_of(Collective collective, const CollectiveShape& shape, int rank, int ranks) {
  std::vector<ExpectedStretch> stretches;
  switch (collective) {
    case Collective::kAllReduce:
      return {{0, shape.receive, 0, std::nullopt}};
    case Collective::kReduceScatter:
      return {{0, shape.receive, shape.unit * rank, std::nullopt}};
    case Collective::kBroadcast:
      return {{0, shape.receive, 0, 0}};
    case Collective::kScatter:
      return {{0, shape.receive, shape.unit * rank, 0}};
    case Collective::kSendReceive:
      return {{0, shape.receive, 0, (rank + ranks - 1) % ranks}};
    case Collective::kReduce:
      if (rank == 0) stretches.push_back({0, shape.receive, 0, std::nullopt});
      return stretches;
    case Collective::kAllToAllV:
      return expected_of_alltoallv(shape, rank, ranks);
    case Collective::kGather:
      if (rank != 0) return stretches;
      break;
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kHypercube:
      break;
  }
  for (int sender = 0; sender < ranks; ++sender) {
    const auto source = collective == Collective::kAllToAll ? shape.unit * rank : 0;
    stretches.push_back({shape.unit * sender, shape.unit, source, sender});
  }
  return stretches;
}

void compare(std::span<const float> found, std::int64_t index, std::int64_t pattern, int ranks,
             std::span<const ExpectedStretch> expected, Comparison& into) {
  std::uint32_t of_all = 0;
  for (int sender = 0; sender < ranks; ++sender) of_all += sender_value(sender);
  const auto end = index + static_cast<std::int64_t>(found.size());
  for (const auto& stretch : expected) {
    const auto from = std::max(index, stretch.begin);
    const auto to = std::min(end, stretch.begin + stretch.length);
    const auto factor = stretch.sender ? 1U : static_cast<std::uint32_t>(ranks);
    const auto offset = stretch.sender ? sender_value(*stretch.sender) : of_all;
    for (auto i = from; i < to; ++i) {
      const auto place = place_value(pattern, stretch.source + (i - stretch.begin));
      const auto right = static_cast<float>(place * factor + offset);
      const float is = found[static_cast<std::size_t>(i - index)];
      if (is == right) continue;
      if (into.wrong++ == 0) {
        into.first_wrong = "element " + std::to_string(i) + " is " + number(is) + ", not " + number(right);
      }
    }
  }
}

}  // namespace sparkplan::nccl
