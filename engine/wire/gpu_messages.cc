#include "engine/wire/gpu_messages.h"

#include <cmath>
#include <limits>

#include "engine/model/resource.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kAnyCount = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostMeasuredGpus = 64;
constexpr std::size_t kMostProcesses = 16;
constexpr std::int64_t kLongestLoad = 60'000;
// No GPU comes near these. They keep a node from claiming numbers that a report could not print.
constexpr std::int64_t kMostMegahertz = 100'000;
constexpr std::int64_t kMostCelsius = 1'000;
constexpr std::int64_t kMostState = 32;
constexpr double kMostWatts = 100'000;
constexpr double kMostRate = 1e9;

constexpr FieldRule kCount = kOptional.within(0, kAnyCount);
constexpr FieldRule kMegahertz = kOptional.within(0, kMostMegahertz);
constexpr FieldRule kCelsius = kOptional.within(-kMostCelsius, kMostCelsius);

bool is_within(double number, double most) { return std::isfinite(number) && number >= 0 && number <= most; }

void list_number(FieldVisitor& field, std::string_view key, double& number, double most) {
  field(key, number);
  field.check(key, is_within(number, most), "expected a number that a GPU can have");
}

void list_watts(FieldVisitor& field, std::string_view key, std::optional<double>& watts) {
  field(key, watts);
  field.check(key, !watts || is_within(*watts, kMostWatts), "expected a power that a GPU can have");
}

}  // namespace

void list_fields(FieldVisitor& field, MeasureGpus& command) {
  field("load_ms", command.load_ms, kRequired.within(0, kLongestLoad));
  field("force", command.force);
}

void list_fields(FieldVisitor& field, GpuProcess& process) {
  field("pid", process.pid, kCount);
  field("name", process.name, kShortText);
}

void list_fields(FieldVisitor& field, GpuLoad& load) {
  field("samples", load.samples, kCount);
  field("clock_mhz", load.clock_mhz, kMegahertz);
  list_watts(field, "power_watts", load.power_watts);
  field("celsius", load.celsius, kCelsius);
  field("zone_celsius", load.zone_celsius, kCelsius);
  field("state", load.state, kOptional.within(0, kMostState));
  field("reasons", load.reasons, kCount);
  list_number(field, "teraflops", load.teraflops, kMostRate);
  list_number(field, "copy_gigabytes", load.copy_gigabytes, kMostRate);
  field("copied_bytes", load.copied_bytes, kCount);
  field("wrong", load.wrong, kCount);
}

void list_fields(FieldVisitor& field, GpuTrouble& trouble) {
  field("fault", trouble.fault, kRequired);
  field("error", trouble.error, kRequired);
}

void list_fields(FieldVisitor& field, GpuReport& gpu) {
  field("name", gpu.name, kShortText);
  field("bus", gpu.bus, kShortText);
  field("highest_mhz", gpu.highest_mhz, kMegahertz);
  list_watts(field, "power_limit_watts", gpu.power_limit_watts);
  field("slowdown_celsius", gpu.slowdown_celsius, kCelsius);
  field("ecc_corrected", gpu.ecc_corrected, kCount);
  field("ecc_uncorrected", gpu.ecc_uncorrected, kCount);
  field("processes", gpu.processes, kOptional.at_most(kMostProcesses));
  field("processes_unknown", gpu.processes_unknown);
  field("load", gpu.load);
  field("trouble", gpu.trouble);
}

void list_fields(FieldVisitor& field, MeasuredGpus& answer) {
  field("driver", answer.driver, kShortText);
  field("cuda_version", answer.cuda_version, kOptional.within(0, 1'000'000));
  field("nvml_missing", answer.nvml_missing, kMessageText);
  field("gpus", answer.gpus, kRequired.at_most(kMostMeasuredGpus));
}

}  // namespace sparkplan
