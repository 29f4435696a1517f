// Whether jobs can start and keep their speed: containers, host name, memory in use, the GPU's clock.
#include <algorithm>
#include <array>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/doctor/gpu_bands.h"

namespace sparkplan {
namespace {

constexpr Needs kReadinessPrograms{Need::kRunning, Need::kExtended};
constexpr Needs kSparkReadiness{Need::kRunning, Need::kSpark, Need::kExtended};

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr int kBytesToMib = 20;

std::string mebibytes(std::int64_t bytes) { return std::to_string(bytes >> kBytesToMib) + " MiB"; }

bool has_docker(const ExaminedNode& node) { return unit_named(extended_of(node), "docker.service") != nullptr; }

Verdict docker_group(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  if (!has_docker(node)) return skip("there is no Docker");
  if (extended.login.user == "root" || extended.login.uid == 0) return pass("the login user is root");
  const auto& may = extended.containers.may_use_docker;
  if (!may) return skip("there is no group docker, or the login user is not known");
  return *may ? pass() : warn(extended.login.user + " is not in the group docker");
}

Verdict container_runtime(const ExaminedNode& node) {
  const ContainerFacts& containers = extended_of(node).containers;
  if (!has_docker(node)) return skip("there is no Docker");
  if (node.facts->host.gpu_driver.empty()) return skip("no GPU driver is loaded");
  const auto& names = containers.runtimes;
  if (std::find(names.begin(), names.end(), "nvidia") != names.end()) return pass("Docker has the runtime nvidia");
  if (!containers.cdi_specs.empty()) return pass(containers.cdi_specs.back().file);
  return warn(containers.toolkit == true ? "nvidia-container-toolkit is installed, but not configured"
                                         : "nvidia-container-toolkit is not installed");
}

Verdict cdi(const ExaminedNode& node) {
  const auto& running = node.facts->host.gpu_driver;
  const auto& specs = extended_of(node).containers.cdi_specs;
  if (specs.empty()) return skip("there is no CDI specification of the GPU");
  if (running.empty()) return skip("no GPU driver is loaded");
  // Devices of the same name come from the last one.
  const CdiSpecFacts& used = specs.back();
  if (used.driver.empty()) return skip(used.file + " names no release of the driver");
  return used.driver == running ? pass(used.file)
                                : fail(used.file + " is of " + used.driver + ", " + running + " runs");
}

/// Host names have no case. Source: hostname(7).
bool same_name(std::string_view one, std::string_view other) { return lower_case(one) == lower_case(other); }

/// A name of one label is compared with the first label of the host name.
Verdict hostname(const ExaminedNode& node) {
  std::string_view host = node.facts->hostname;
  if (host.empty()) return skip("the host name is not known");
  if (node.name.find('.') == std::string::npos) host = host.substr(0, host.find('.'));
  return same_name(host, node.name) ? pass() : warn("the host name is " + node.facts->hostname);
}

Verdict pressure(const ExaminedNode& node) {
  constexpr double kNoticeable = 0.1;
  constexpr double kThrashing = 1.0;
  const auto& percent = extended_of(node).memory_pressure;
  if (!percent) return skip("the kernel does not count it");
  const std::string seen = "full avg10=" + real_text(*percent);
  if (*percent > kThrashing) return fail(seen);
  return *percent > kNoticeable ? warn(seen) : pass(seen);
}

Verdict swap_used(const ExaminedNode& node) {
  const SwapFacts& swap = extended_of(node).swap;
  if (swap.total == 0) return pass("no swap space");
  return swap.used < kGibibyte ? pass() : warn(mebibytes(swap.used) + " of " + mebibytes(swap.total) + " are in use");
}

Verdict shm_small(const ExaminedNode& node) {
  const auto& memory = extended_of(node).shared_memory;
  if (!memory) return skip("not known");
  if (memory->type.empty()) return warn("nothing is mounted on /dev/shm");
  if (!memory->limit || *memory->limit >= kGibibyte) return pass();
  return warn("/dev/shm holds " + mebibytes(*memory->limit));
}

Verdict shm_full(const ExaminedNode& node) {
  constexpr std::int64_t kMuch = 4 * kGibibyte;
  const auto& memory = extended_of(node).shared_memory;
  if (!memory) return skip("not known");
  if (memory->used < kMuch) return pass();
  return warn(std::to_string(memory->files) + " files use " + mebibytes(memory->used));
}

/// A busy GPU runs at 2200 to 2600 MHz and uses 80 to 100 W. An idle one tells nothing.
Verdict clock_stuck(const ExaminedNode& node) {
  constexpr std::int64_t kBusy = 90;
  const auto& gpu = extended_of(node).gpu;
  if (!gpu || !gpu->utilisation || !gpu->clock_mhz || !gpu->power_watts) return skip("nvidia-smi does not report it");
  if (*gpu->utilisation < kBusy) return skip("the GPU is idle; repeat while a job runs");
  const std::string seen = std::to_string(*gpu->clock_mhz) + " MHz and " + std::to_string(*gpu->power_watts) +
                           " W at " + std::to_string(*gpu->utilisation) + " % load";
  const bool reason = (gpu->reasons.value_or(0) & ~std::int64_t{kClockIdle}) != 0;
  const bool stuck = *gpu->clock_mhz < kStuckBelowMhz && *gpu->power_watts < kStuckBelowWatts && !reason;
  return stuck ? fail(seen) : pass(seen);
}

Verdict throttled(const ExaminedNode& node) {
  const auto& gpu = extended_of(node).gpu;
  if (!gpu || !gpu->reasons) return skip("nvidia-smi does not report it");
  Complaints complaints;
  if ((*gpu->reasons & kHeatReasons) != 0) complaints.add("its clock is lowered because of heat");
  if ((*gpu->reasons & kClockPowerBrake) != 0) complaints.add("its clock is lowered because of power");
  if (!complaints.any() && (*gpu->reasons & kClockHardware) != 0) complaints.add("the hardware lowers its clock");
  return complaints.as(CheckStatus::kWarn);
}

Verdict clock_capped(const ExaminedNode& node) {
  constexpr std::array<std::string_view, 1> kNames{"gb10-clock-cap.service"};
  return of_units(node, kNames, CheckStatus::kWarn);
}

constexpr auto kReadinessExaminations = std::to_array<Examination>({
    {"docker-group", docker_group, kReadinessPrograms, {{"units", "containers.may_use_docker"}}},
    {"container-runtime-missing",
     container_runtime,
     kSparkReadiness,
     {{"units", "containers.runtimes", "containers.cdi_specs", "containers.toolkit"}}},
    {"cdi-stale", cdi, kReadinessPrograms, {{"containers.cdi_specs", "gpu_driver"}}},
    {"hostname-differs", hostname, {Need::kRunning}},
    {"memory-pressure", pressure, kReadinessPrograms, {{"memory_pressure"}}},
    {"swap-used", swap_used, kReadinessPrograms, {{"swap"}}},
    {"shm-small", shm_small, kReadinessPrograms, {{"shared_memory"}}},
    {"shm-full", shm_full, kReadinessPrograms, {{"shared_memory"}}},
    {"gpu-clock-stuck", clock_stuck, kSparkReadiness, {{"gpu"}}},
    {"gpu-throttled", throttled, kSparkReadiness, {{"gpu"}}},
    {"gpu-clock-capped", clock_capped, kReadinessPrograms, {{"units"}}},
});

}  // namespace

std::span<const Examination> readiness_examinations() { return kReadinessExaminations; }

}  // namespace sparkplan
