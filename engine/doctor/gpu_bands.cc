#include "engine/doctor/gpu_bands.h"

#include <algorithm>
#include <array>

namespace sparkplan {
namespace {

constexpr double kLeastShareOfClock = 0.5;

Judgement judge_spark_clock(const GpuClockSeen& seen) {
  const double threshold = kStuckBelowMhz;
  if (seen.clock_mhz >= kStuckBelowMhz) return {CheckStatus::kPass, {}, threshold};
  constexpr std::int64_t kLimits = kClockSetting | kClockPowerCap | kClockSync | kClockDisplay;
  const bool little_power = !seen.power_watts || *seen.power_watts < kStuckBelowWatts;
  // A stuck GPU shows no reason at all.
  if (little_power && (seen.reasons & kLimits) == 0) return {CheckStatus::kFail, "gpu-clock-stuck", threshold};
  return {CheckStatus::kFail, "gpu-clock-low", threshold};
}

}  // namespace

Judgement judge_gpu_clock(const GpuClockSeen& seen) {
  std::optional<double> threshold;
  if (seen.highest_mhz) threshold = static_cast<double>(*seen.highest_mhz) * kLeastShareOfClock;
  if (seen.spark) threshold = kStuckBelowMhz;
  constexpr std::int64_t kByHardware = kClockHardwareHeat | kClockPowerBrake | kClockHardware;
  if ((seen.reasons & kByHardware) != 0) return {CheckStatus::kFail, "gpu-throttled", threshold};
  if ((seen.reasons & kClockSoftwareHeat) != 0) return {CheckStatus::kWarn, "gpu-throttled", threshold};
  if (seen.spark) return judge_spark_clock(seen);
  const bool low = threshold && static_cast<double>(seen.clock_mhz) < *threshold;
  return low ? Judgement{CheckStatus::kWarn, "gpu-clock-low", threshold} : Judgement{CheckStatus::kPass, {}, threshold};
}

Judgement judge_gpu_copy(double rate, bool spark) {
  if (!spark) return {};
  if (rate >= kSparkCopy) return {CheckStatus::kPass, {}, kSparkCopy};
  return {CheckStatus::kWarn, "gpu-memory-slow", kSparkCopy};
}

CheckStatus status_of_xid(std::int64_t xid) {
  // Memory: 48, 64, 92, 95, 140. The bus: 79. The firmware: 119, 120.
  constexpr std::array<std::int64_t, 8> kOfHardware{48, 64, 79, 92, 95, 119, 120, 140};
  // 13 graphics engine exception, 31 memory page fault, 43 and 45 end of a program.
  constexpr std::array<std::int64_t, 4> kOfPrograms{13, 31, 43, 45};
  const auto is_in = [&](const auto& list) { return std::find(list.begin(), list.end(), xid) != list.end(); };
  if (is_in(kOfHardware)) return CheckStatus::kFail;
  return is_in(kOfPrograms) ? CheckStatus::kPass : CheckStatus::kWarn;
}

}  // namespace sparkplan
