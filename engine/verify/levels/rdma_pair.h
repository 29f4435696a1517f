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

/// Measures every way between the two nodes that `ways` (not empty, all of the same two nodes) join: each half,
/// both directions; its latency; and where there are several, all at once, both directions. Closes what it opened on
/// the nodes. A stop ends it after the measurement in hand.
std::vector<Check> measure_rdma(VerifyContext& context, const std::vector<RdmaWay>& ways);

}  // namespace sparkplan
