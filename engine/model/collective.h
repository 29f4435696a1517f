#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/model/named_enum.h"

namespace sparkplan {

/// The collective operations of NCCL that are measured, by the names that nccl-tests gives them.
enum class Collective : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAllToAll, kSendReceive };

inline constexpr std::array<Collective, 6> kCollectives{Collective::kAllReduce,     Collective::kAllGather,
                                                        Collective::kReduceScatter, Collective::kBroadcast,
                                                        Collective::kAllToAll,      Collective::kSendReceive};

/// "all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"
std::span<const std::string_view> names_of(Collective collective);

/// How many elements of 4 bytes one rank gives and takes in one operation.
struct CollectiveShape {
  std::int64_t unit = 0;     ///< The part that one rank has in it; of gather and scatter kinds a multiple of 4.
  std::int64_t send = 0;     ///< In the send buffer.
  std::int64_t receive = 0;  ///< In the receive buffer.
  std::int64_t bytes = 0;    ///< The size as nccl-tests prints it: the total of gather and scatter kinds.
};

/// The shape of an operation of about `bytes`: what does not divide evenly is rounded down.
/// Source: nccl-tests, src/*.cu, *GetCollByteCount.
CollectiveShape collective_shape(Collective collective, std::int64_t bytes, int ranks);

/// GB/s (10^9 bytes) of one operation that took `seconds`.
struct CollectiveBandwidth {
  double algorithm = 0;  ///< Bytes as printed per second.
  double bus = 0;        ///< What each link had to carry for that, whatever the number of ranks.
};
/// Source: nccl-tests, doc/PERFORMANCE.md and src/*.cu, *GetBw.
CollectiveBandwidth collective_bandwidth(Collective collective, std::int64_t bytes, int ranks, double seconds);

}  // namespace sparkplan
