#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/verify/levels/gpu_checks.h"

namespace sparkplan::testing {

/// A good GB10 under load, as reports describe it.
inline GpuReport good_gpu() {
  GpuReport gpu;
  gpu.name = "NVIDIA GB10";
  gpu.bus = "000f:01:00.0";
  gpu.highest_mhz = 3003;
  GpuLoad load;
  load.samples = 50;
  load.clock_mhz = 2400;
  load.power_watts = 85;
  load.celsius = 70;
  load.zone_celsius = 80;
  load.state = 0;
  load.reasons = 0;
  load.teraflops = 28.5;
  load.copy_gigabytes = 218;
  load.copied_bytes = std::int64_t{256} << 20;
  gpu.load = load;
  return gpu;
}

inline GpuNode gpu_node(std::string name, std::vector<GpuReport> gpus = {good_gpu()}) {
  GpuNode node;
  node.name = std::move(name);
  node.spark = true;
  node.outcome.measured = MeasuredGpus{"580.159.03", 13'000, "", std::move(gpus)};
  node.log = GpuErrorsReply{0, {}, true};
  return node;
}

}  // namespace sparkplan::testing
