#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/fields.h"

/// The command of sparkplan-nccl that measures the GPUs of a node, and its answer. Numbers that the driver does not
/// report have no value.
namespace sparkplan {

/// Measures each GPU of the node, all at the same time. Changes no setting of a GPU. With `load_ms` 0 it only lists the
/// programs on each GPU, and leaves every GPU alone.
struct MeasureGpus {
  static constexpr std::string_view kName = "measure_gpus";
  std::int64_t load_ms = 8'000;  ///< How long each GPU calculates. The first three eighths are not evaluated.
  bool force = false;            ///< Also measures GPUs that other programs use, or may use.
};

/// A program that computes on a GPU.
struct GpuProcess {
  std::int64_t pid = 0;
  std::string name;  ///< "python3"; empty if it cannot be read.

  bool operator==(const GpuProcess&) const = default;
};

/// The measurements of a busy GPU.
struct GpuLoad {
  std::int64_t samples = 0;                  ///< The number of readings of the following six; 0: NVML has none.
  std::optional<std::int64_t> clock_mhz;     ///< Of the streaming multiprocessors: the median.
  std::optional<double> power_watts;         ///< The median.
  std::optional<std::int64_t> celsius;       ///< The highest.
  std::optional<std::int64_t> zone_celsius;  ///< The hottest thermal zone of the board: acpitz in /sys/class/thermal.
  std::optional<std::int64_t> state;         ///< The performance state: 0 is P0. The median.
  std::optional<std::int64_t> reasons;       ///< Bits of ClockReason, each seen in a tenth of the readings or more.
  double teraflops = 0;                      ///< Of multiply-adds of FP32 numbers, two operations each.
  double copy_gigabytes = 0;                 ///< GB/s: bytes read plus bytes written by a copy in the GPU's memory.
  std::int64_t copied_bytes = 0;             ///< The size of the copied buffer; 0: nothing was copied.
  std::int64_t wrong = 0;                    ///< Results and copied words that are not what they must be.

  bool operator==(const GpuLoad&) const = default;
};

/// Why a clock is lower than it could be. Source: nvml.h, nvmlClocksEventReason*.
enum ClockReason : std::int64_t {
  kClockIdle = 0x1,
  kClockSetting = 0x2,
  kClockPowerCap = 0x4,
  kClockHardware = 0x8,
  kClockSync = 0x10,
  kClockSoftwareHeat = 0x20,
  kClockHardwareHeat = 0x40,
  kClockPowerBrake = 0x80,
  kClockDisplay = 0x100,
};

/// Why a GPU, or a node, could not be measured.
enum class GpuFault : std::uint8_t {
  kMemory,  ///< Too little memory is free.
  kCuda,    ///< The driver reports an error.
  kHangs,   ///< The GPU does not finish its work.
};
constexpr EnumNames<3> names_of(GpuFault /*fault*/) { return {"memory", "cuda", "hangs"}; }

struct GpuTrouble {
  GpuFault fault = GpuFault::kCuda;
  Error error;
};

/// One GPU, in the order of the driver.
struct GpuReport {
  std::string name;                              ///< "NVIDIA GB10"
  std::string bus;                               ///< "0000:01:00.0"
  std::optional<std::int64_t> highest_mhz;       ///< The highest clock of the streaming multiprocessors.
  std::optional<double> power_limit_watts;       ///< In force.
  std::optional<std::int64_t> slowdown_celsius;  ///< The hardware lowers the clock from here on.
  std::optional<std::int64_t> ecc_corrected;     ///< Errors of memory since the driver was loaded.
  std::optional<std::int64_t> ecc_uncorrected;
  std::vector<GpuProcess> processes;  ///< Before the measurement; at most 16.
  bool processes_unknown = false;     ///< NVML was loaded, and its list of programs failed.
  std::optional<GpuLoad> load;        ///< Nothing: it was not measured.
  std::optional<GpuTrouble> trouble;  ///< The measurement failed. With `load`, only the copy did.
};

struct MeasuredGpus {
  static constexpr std::string_view kName = "gpus";
  std::string driver;             ///< "580.95.05"; empty without NVML.
  std::int64_t cuda_version = 0;  ///< 13000 for CUDA 13.0: cuDriverGetVersion().
  std::string nvml_missing;       ///< Why NVML was not loaded; empty if it was.
  std::vector<GpuReport> gpus;
};

void list_fields(FieldVisitor& field, MeasureGpus& command);
void list_fields(FieldVisitor& field, GpuProcess& process);
void list_fields(FieldVisitor& field, GpuLoad& load);
void list_fields(FieldVisitor& field, GpuTrouble& trouble);
void list_fields(FieldVisitor& field, GpuReport& gpu);
void list_fields(FieldVisitor& field, MeasuredGpus& answer);

}  // namespace sparkplan
