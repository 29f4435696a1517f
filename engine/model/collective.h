#pragma once

#include <array>
#include <cstdint>

#include "engine/core/named_enum.h"

namespace sparkplan {

/// The measured collective operations of NCCL, by their names in nccl-tests.
enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kSendReceive,
  kReduce,
  kGather,
  kScatter,
  kHypercube,  ///< An all_gather in log2(ranks) steps of sends; each step doubles the data.
  kAllToAllV,  ///< An alltoall with parts of different sizes: see alltoallv_part().
};

inline constexpr std::array<Collective, 11> kCollectives{
    Collective::kAllReduce, Collective::kAllGather,   Collective::kReduceScatter, Collective::kBroadcast,
    Collective::kAllToAll,  Collective::kSendReceive, Collective::kReduce,        Collective::kGather,
    Collective::kScatter,   Collective::kHypercube,   Collective::kAllToAllV};

constexpr EnumNames<11> names_of(Collective /*collective*/) {
  return {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv",
          "reduce",     "gather",     "scatter",        "hypercube", "alltoallv"};
}

/// The number of 4-byte elements that one rank sends and receives in one operation.
struct CollectiveShape {
  std::int64_t unit = 0;     ///< The elements that one rank contributes; a multiple of 4 for gather and scatter
                             ///< operations.
  std::int64_t send = 0;     ///< In the send buffer.
  std::int64_t receive = 0;  ///< In the receive buffer.
  std::int64_t bytes = 0;    ///< The size as nccl-tests prints it: the total for gather and scatter operations.
};

/// The shape of an operation of about `bytes`, rounded down to a size that divides evenly. `unit` is 0 for fewer bytes
/// than the smallest such size.
/// Source: nccl-tests, src/*.cu, *GetCollByteCount.
CollectiveShape collective_shape(Collective collective, std::int64_t bytes, int ranks);

/// The elements that rank `from` sends to rank `to` in an alltoallv. They grow with the distance of the ranks, and all
/// ranks send and receive the same number. Both buffers have the parts in the order of the peers.
/// Source: nccl-tests, src/alltoallv.cu, AlltoAllvGetPeerBytesDistanceWeighted with its default spread.
std::int64_t alltoallv_part(const CollectiveShape& shape, int from, int to, int ranks);

/// False for a number of ranks that the operation cannot have: a hypercube has a power of two.
bool fits_ranks(Collective collective, int ranks);

/// True if each rank needs data of all others: no rank can end an operation much earlier than the last one.
bool ends_together(Collective collective);

/// The places of both buffers in one buffer of max(send, receive) elements, for an operation in place.
struct InPlaceOffsets {
  std::int64_t send = 0;  ///< In elements.
  std::int64_t receive = 0;
};
/// False for operations whose buffers must be two: alltoall, alltoallv and sendrecv. Source: nccl-tests,
/// src/alltoall.cu, src/alltoallv.cu and src/sendrecv.cu report no errors in place.
bool has_in_place(Collective collective);
/// Source: nccl-tests, src/*.cu, *GetCollByteCount: sendInplaceOffset, recvInplaceOffset.
InPlaceOffsets in_place_offsets(Collective collective, const CollectiveShape& shape, int rank);

/// GB/s (10^9 bytes) of one operation that took `seconds`.
struct CollectiveBandwidth {
  double algorithm = 0;  ///< The printed bytes per second.
  double bus = 0;        ///< The load of each link, independent of the number of ranks.
};
/// Source: nccl-tests, doc/PERFORMANCE.md and src/*.cu, *GetBw.
CollectiveBandwidth collective_bandwidth(Collective collective, std::int64_t bytes, int ranks, double seconds);

}  // namespace sparkplan
