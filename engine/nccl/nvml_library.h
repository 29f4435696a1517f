#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/wire/gpu_messages.h"

/// The part of the NVIDIA Management Library that the test of the GPU reads. Its own declarations, as for the driver:
/// the library is loaded when the program runs. None of these functions changes a setting.
/// Source: NVML API reference, nvml.h.
namespace sparkplan::nvml {

using Status = int;  // nvmlReturn_t
inline constexpr Status kSuccess = 0;
inline constexpr Status kNotSupported = 3;
inline constexpr Status kInsufficientSize = 7;

using Device = struct DeviceBody*;  // nvmlDevice_t
inline constexpr int kSmClock = 1;
inline constexpr int kGpuSensor = 0;
inline constexpr int kSlowdownThreshold = 1;
inline constexpr int kCorrectedErrors = 0;
inline constexpr int kUncorrectedErrors = 1;
inline constexpr int kSinceDriverLoad = 0;

struct ProcessInfo {  // nvmlProcessInfo_t, version 2 and 3
  unsigned int pid = 0;
  unsigned long long memory_bytes = 0;
  unsigned int gpu_instance = 0;
  unsigned int compute_instance = 0;
};

/// The functions by their names in the library. An older or newer library may lack one of the optional ones: then the
/// pointer is null.
struct Functions {
  Status (*nvmlInit)();
  const char* (*nvmlErrorString)(Status status);
  Status (*nvmlSystemGetDriverVersion)(char* version, unsigned int length);
  Status (*nvmlDeviceGetHandleByPciBusId)(const char* bus, Device* device);
  Status (*nvmlDeviceGetComputeRunningProcesses)(Device device, unsigned int* count, ProcessInfo* processes);
  Status (*nvmlDeviceGetClockInfo)(Device device, int clock, unsigned int* megahertz);
  Status (*nvmlDeviceGetMaxClockInfo)(Device device, int clock, unsigned int* megahertz);
  Status (*nvmlDeviceGetTemperature)(Device device, int sensor, unsigned int* celsius);
  Status (*nvmlDeviceGetTemperatureThreshold)(Device device, int threshold, unsigned int* celsius);
  Status (*nvmlDeviceGetPowerUsage)(Device device, unsigned int* milliwatts);
  Status (*nvmlDeviceGetEnforcedPowerLimit)(Device device, unsigned int* milliwatts);
  Status (*nvmlDeviceGetPerformanceState)(Device device, int* state);
  Status (*nvmlDeviceGetCurrentClocksEventReasons)(Device device, unsigned long long* reasons);
  Status (*nvmlDeviceGetTotalEccErrors)(Device device, int kind, int counter, unsigned long long* count);
};

/// libnvidia-ml.so.1, loaded until the program ends, and started.
class Library {
 public:
  /// Errors: kNotFound (no such library), kUnsupported (it lacks a function), kFailed (it does not start).
  static Result<Library> load();

  /// "580.95.05"; empty if the library does not report it.
  std::string driver_version() const;
  /// Errors: kFailed.
  Result<Device> device_at(const std::string& bus) const;

  /// The programs that compute on the GPU, at most 16; none if the driver supports no list. Nothing if
  /// the list fails.
  std::optional<std::vector<GpuProcess>> processes_on(Device device) const;

  // Nothing in each of these: the driver does not report it for this GPU.
  std::optional<std::int64_t> clock_mhz(Device device) const;
  std::optional<std::int64_t> highest_mhz(Device device) const;
  std::optional<std::int64_t> celsius(Device device) const;
  std::optional<std::int64_t> slowdown_celsius(Device device) const;
  std::optional<double> power_watts(Device device) const;
  std::optional<double> power_limit_watts(Device device) const;
  std::optional<std::int64_t> state(Device device) const;
  /// Bits of ClockReason.
  std::optional<std::int64_t> reasons(Device device) const;
  /// Errors of memory since the driver was loaded; `kind` is kCorrectedErrors or kUncorrectedErrors.
  std::optional<std::int64_t> ecc_errors(Device device, int kind) const;

 private:
  explicit Library(const Functions& functions) : functions_(functions) {}

  Functions functions_;
};

}  // namespace sparkplan::nvml
