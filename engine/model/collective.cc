#include "engine/model/collective.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kElementBytes = 4;
constexpr std::int64_t kAlignedElements = 4;  // 16 bytes, the alignment that suits NCCL's kernels.

double bus_factor(Collective collective, int ranks) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kSendReceive:
      break;
  }
  return 1;
}

}  // namespace

std::span<const std::string_view> names_of(Collective /*collective*/) {
  static constexpr std::array<std::string_view, 6> kNames{"all_reduce", "all_gather", "reduce_scatter",
                                                          "broadcast",  "alltoall",   "sendrecv"};
  return kNames;
}

CollectiveShape collective_shape(Collective collective, std::int64_t bytes, int ranks) {
  const std::int64_t all = bytes / kElementBytes;
  const std::int64_t part = all / ranks / kAlignedElements * kAlignedElements;
  const std::int64_t parts = part * ranks;
  switch (collective) {
    case Collective::kAllGather:
      return {part, part, parts, parts * kElementBytes};
    case Collective::kReduceScatter:
      return {part, parts, part, parts * kElementBytes};
    case Collective::kAllToAll:
      return {part, parts, parts, parts * kElementBytes};
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kSendReceive:
      break;
  }
  return {all, all, all, all * kElementBytes};
}

CollectiveBandwidth collective_bandwidth(Collective collective, std::int64_t bytes, int ranks, double seconds) {
  if (seconds <= 0) return {};
  const double algorithm = static_cast<double>(bytes) / 1e9 / seconds;
  return {algorithm, algorithm * bus_factor(collective, ranks)};
}

}  // namespace sparkplan
