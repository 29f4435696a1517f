#pragma once

#include <cstdint>
#include <optional>

#include "engine/doctor/judgement.h"
#include "engine/wire/gpu_messages.h"

namespace sparkplan {

/// A busy GB10 runs at 2200 to 2600 MHz and uses 80 to 100 W. One whose power contract is stuck was seen at 481 to 858
/// MHz. Source: public reports of owners, collected in NVCheckup, gb10-pd-power-wedge.
inline constexpr std::int64_t kStuckBelowMhz = 1400;
inline constexpr std::int64_t kStuckBelowWatts = 40;
/// 85 % of the copy that one report gives, 218 GB/s. The memory's rated bandwidth is 273 GB/s. Source:
/// huggingface/kernels, issue 283.
inline constexpr double kSparkCopy = 185;
/// Source: NVCheckup, gb10-acpi-thermal-zone-hot.
inline constexpr std::int64_t kHotZone = 93;
/// A node below this part of the median of its like is named.
inline constexpr double kParity = 0.9;

/// The bits of ClockReason that heat sets.
inline constexpr std::int64_t kHeatReasons = kClockSoftwareHeat | kClockHardwareHeat;

struct GpuClockSeen {
  bool spark = false;
  std::int64_t clock_mhz = 0;               ///< Under load.
  std::optional<std::int64_t> highest_mhz;  ///< The GPU can reach it.
  std::optional<double> power_watts;
  std::int64_t reasons = 0;  ///< Bits of ClockReason.
};

/// Pure. `threshold` is set for a DGX Spark, and for a GPU whose highest clock is known.
Judgement judge_gpu_clock(const GpuClockSeen& seen);

/// Pure. GB/s. Only a DGX Spark has an expected value.
Judgement judge_gpu_copy(double rate, bool spark);

/// Pure. Failed: the hardware or its firmware. Passed: a program's own mistake. Warned: any other.
/// Source: NVIDIA, Xid Errors.
CheckStatus status_of_xid(std::int64_t xid);

}  // namespace sparkplan
