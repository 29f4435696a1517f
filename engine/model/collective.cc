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
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendReceive:
    case Collective::kHypercube:
      break;
  }
  return 1;
}

CollectiveShape alltoallv_shape(std::int64_t unit, int ranks) {
  CollectiveShape shape{unit, 0, 0, 0};
  for (int to = 0; to < ranks; ++to) shape.send += alltoallv_part(shape, 0, to, ranks);
  shape.receive = shape.send;
  shape.bytes = shape.send * kElementBytes;
  return shape;
}

}  // namespace

std::int64_t alltoallv_part(const CollectiveShape& shape, int from, int to, int ranks) {
  if (ranks < 2) return shape.unit;
  const std::int64_t distances = std::int64_t{ranks} * (ranks - 1) / 2;
  const std::int64_t distance = (to - from + ranks) % ranks;
  return shape.unit * ranks * distance / distances / kAlignedElements * kAlignedElements;
}

CollectiveShape collective_shape(Collective collective, std::int64_t bytes, int ranks) {
  const std::int64_t all = bytes / kElementBytes;
  const std::int64_t part = all / ranks / kAlignedElements * kAlignedElements;
  const std::int64_t parts = part * ranks;
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kHypercube:
      return {part, part, parts, parts * kElementBytes};
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return {part, parts, part, parts * kElementBytes};
    case Collective::kAllToAll:
      return {part, parts, parts, parts * kElementBytes};
    case Collective::kAllToAllV:
      return alltoallv_shape(part, ranks);
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendReceive:
      break;
  }
  return {all, all, all, all * kElementBytes};
}

bool fits_ranks(Collective collective, int ranks) {
  return ranks > 0 && (collective != Collective::kHypercube || (ranks & (ranks - 1)) == 0);
}

bool ends_together(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kHypercube:
      return true;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kSendReceive:
      break;
  }
  return false;
}

bool has_in_place(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kAllToAllV &&
         collective != Collective::kSendReceive;
}

InPlaceOffsets in_place_offsets(Collective collective, const CollectiveShape& shape, int rank) {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kHypercube:
      return {shape.unit * rank, 0};
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return {0, shape.unit * rank};
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kSendReceive:
      break;
  }
  return {0, 0};
}

CollectiveBandwidth collective_bandwidth(Collective collective, std::int64_t bytes, int ranks, double seconds) {
  if (seconds <= 0) return {};
  double algorithm = static_cast<double>(bytes) / 1e9 / seconds;
  // nccl-tests counts only the data that a rank receives from others.
  if (collective == Collective::kHypercube) algorithm *= static_cast<double>(ranks - 1) / ranks;
  return {algorithm, algorithm * bus_factor(collective, ranks)};
}

}  // namespace sparkplan
