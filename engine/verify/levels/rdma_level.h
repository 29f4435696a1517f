#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Each half of each pair, both directions, and both halves at once: RDMA write bandwidth, latency, byte counters.
std::vector<Check> verify_rdma(VerifyContext& context);

}  // namespace sparkplan
