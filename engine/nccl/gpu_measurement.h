#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/wire/nccl_messages.h"

namespace sparkplan::gpu {

/// Measures all GPUs of this machine, each in its own thread. A GPU with a program on it is only measured with
/// `command.force`, and none without a load. Answers MeasuredGpus, or a RankFailure without a driver or a GPU. The
/// driver stores nothing: its cache of compiled programs is off for this process.
RankAnswer measure_gpus(const MeasureGpus& command);

/// Readings of a busy GPU.
struct Samples {
  std::vector<std::optional<std::int64_t>> clocks, states, celsius, zones, reasons;
  std::vector<std::optional<double>> watts;
};

/// Pure. Sums up the readings; as GpuLoad describes.
void sum_up(const Samples& samples, GpuLoad& into);

}  // namespace sparkplan::gpu
