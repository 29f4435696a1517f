#pragma once

#include <vector>

#include "engine/verify/levels/rdma_ports.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// One half between two nodes: `pair` goes from the first to the second.
struct RdmaWay {
  HalfPair pair;
  const RdmaHalf* from = nullptr;  ///< Both with a device.
  const RdmaHalf* to = nullptr;
};

/// Measures the given ways (at least one, all between the same two nodes). It measures each half in both directions,
/// its latency, and several halves at once in both directions. It closes everything that it opened on the nodes. A stop
/// ends it after the current measurement.
std::vector<Check> measure_rdma(VerifyContext& context, const std::vector<RdmaWay>& ways);

}  // namespace sparkplan
