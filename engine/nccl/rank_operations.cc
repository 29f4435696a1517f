// The calls of NCCL that make up one operation.
#include "engine/nccl/rank.h"

namespace sparkplan::nccl {
namespace {

constexpr int kRoot = 0;

/// NCCL and the driver represent GPU addresses as pointers.
void* pointer(cuda::Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

Result<void> Rank::all_reduce_in(cuda::Address memory, std::size_t elements) {
  return checked_nccl(
      nccl_.functions.ncclAllReduce(pointer(memory), pointer(memory), elements, kFloat32, kSum, communicator_, stream_),
      "all_reduce");
}

Result<void> Rank::start(Collective collective, const CollectiveShape& shape, const Buffers& all, int turn) {
  const auto& f = nccl_.functions;
  const std::int64_t copy = turn % all.copies;
  const auto from = all.send + bytes_of(copy * all.send_stride);
  const auto to = all.receive + bytes_of(copy * all.receive_stride);
  const void* send = pointer(from);
  void* receive = pointer(to);
  const auto unit = static_cast<std::size_t>(shape.unit);
  switch (collective) {
    case Collective::kAllReduce:
      return checked_nccl(f.ncclAllReduce(send, receive, unit, kFloat32, kSum, communicator_, stream_), "all_reduce");
    case Collective::kAllGather:
      return checked_nccl(f.ncclAllGather(send, receive, unit, kFloat32, communicator_, stream_), "all_gather");
    case Collective::kReduceScatter:
      return checked_nccl(f.ncclReduceScatter(send, receive, unit, kFloat32, kSum, communicator_, stream_),
                          "reduce_scatter");
    case Collective::kBroadcast:
      return checked_nccl(f.ncclBroadcast(send, receive, unit, kFloat32, kRoot, communicator_, stream_), "broadcast");
    case Collective::kReduce:
      return checked_nccl(f.ncclReduce(send, receive, unit, kFloat32, kSum, kRoot, communicator_, stream_), "reduce");
    case Collective::kHypercube:
      return start_hypercube(shape, from, to);
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kSendReceive:
    case Collective::kGather:
    case Collective::kScatter:
      break;
  }
  SPARK_CHECK(checked_nccl(f.ncclGroupStart(), "begin a group"));
  SPARK_CHECK(start_transfers(collective, shape, from, to));
  return checked_nccl(f.ncclGroupEnd(), "end a group");
}

Result<void> Rank::send_to(cuda::Address from, std::int64_t elements, int peer) {
  return checked_nccl(nccl_.functions.ncclSend(pointer(from), static_cast<std::size_t>(elements), kFloat32, peer,
                                               communicator_, stream_),
                      "send");
}

Result<void> Rank::receive_from(cuda::Address to, std::int64_t elements, int peer) {
  return checked_nccl(
      nccl_.functions.ncclRecv(pointer(to), static_cast<std::size_t>(elements), kFloat32, peer, communicator_, stream_),
      "receive");
}

Result<void> Rank::start_transfers(Collective collective, const CollectiveShape& shape, cuda::Address from,
                                   cuda::Address to) {
  if (collective == Collective::kAllToAllV) return start_alltoallv(shape, from, to);
  if (collective == Collective::kSendReceive) {
    SPARK_CHECK(send_to(from, shape.unit, (rank_ + 1) % ranks_));
    return receive_from(to, shape.unit, (rank_ + ranks_ - 1) % ranks_);
  }
  if (collective == Collective::kGather) SPARK_CHECK(send_to(from, shape.unit, kRoot));
  if (collective == Collective::kScatter) SPARK_CHECK(receive_from(to, shape.unit, kRoot));
  const bool sends = collective == Collective::kAllToAll || (collective == Collective::kScatter && rank_ == kRoot);
  const bool receives = collective == Collective::kAllToAll || (collective == Collective::kGather && rank_ == kRoot);
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto offset = bytes_of(shape.unit * peer);
    if (sends) SPARK_CHECK(send_to(from + offset, shape.unit, peer));
    if (receives) SPARK_CHECK(receive_from(to + offset, shape.unit, peer));
  }
  return {};
}

Result<void> Rank::start_alltoallv(const CollectiveShape& shape, cuda::Address from, cuda::Address to) {
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto sent = alltoallv_part(shape, rank_, peer, ranks_);
    const auto received = alltoallv_part(shape, peer, rank_, ranks_);
    if (sent > 0) SPARK_CHECK(send_to(from, sent, peer));
    if (received > 0) SPARK_CHECK(receive_from(to, received, peer));
    from += bytes_of(sent);
    to += bytes_of(received);
  }
  return {};
}

// Source: nccl-tests, src/hypercube.cu.
Result<void> Rank::start_hypercube(const CollectiveShape& shape, cuda::Address from, cuda::Address to) {
  const auto& f = nccl_.functions;
  const auto own = to + bytes_of(shape.unit * rank_);
  if (own != from) {
    SPARK_CHECK(checked(cuda_.cuMemcpyDtoDAsync(own, from, bytes_of(shape.unit), stream_), "copy on the GPU"));
  }
  for (int mask = 1; mask < ranks_; mask *= 2) {
    const int peer = rank_ ^ mask;
    const int first = rank_ & ~(mask - 1);
    SPARK_CHECK(checked_nccl(f.ncclGroupStart(), "begin a group"));
    SPARK_CHECK(send_to(to + bytes_of(shape.unit * first), shape.unit * mask, peer));
    SPARK_CHECK(receive_from(to + bytes_of(shape.unit * (first ^ mask)), shape.unit * mask, peer));
    SPARK_CHECK(checked_nccl(f.ncclGroupEnd(), "end a group"));
  }
  return {};
}

}  // namespace sparkplan::nccl
