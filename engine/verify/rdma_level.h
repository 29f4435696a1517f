#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// Each half of each pair, both directions, and both halves at once: RDMA write bandwidth, latency, byte counters.
std::vector<Check> verify_rdma(Scene& scene);

}  // namespace sparkplan
