#include "engine/nccl/gpu_measurement.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/threads.h"
#include "engine/nccl/cuda_driver.h"
#include "engine/nccl/environment.h"
#include "engine/nccl/gpu_bench.h"
#include "engine/nccl/nvml_library.h"

namespace sparkplan::gpu {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr int kMostGpus = 64;
/// So long a test that has ended may stay on its GPU: its output ends before the kernel has freed its memory there.
constexpr std::chrono::seconds kLeaving{5};
constexpr std::chrono::milliseconds kBetweenLists{100};
/// A reason that fewer readings show is no state of the GPU.
constexpr std::size_t kSeenOften = 10;
constexpr int kReasonBits = 63;

/// The values that were read, in order.
template <class T>
std::vector<T> known(const std::vector<std::optional<T>>& values) {
  std::vector<T> result;
  for (const auto& value : values) {
    if (value) result.push_back(*value);
  }
  std::sort(result.begin(), result.end());
  return result;
}

template <class T>
std::optional<T> median(const std::vector<std::optional<T>>& values) {
  const auto sorted = known(values);
  return sorted.empty() ? std::nullopt : std::optional(sorted[sorted.size() / 2]);
}

std::optional<std::int64_t> highest(const std::vector<std::optional<std::int64_t>>& values) {
  const auto sorted = known(values);
  return sorted.empty() ? std::nullopt : std::optional(sorted.back());
}

std::optional<std::int64_t> frequent_reasons(const std::vector<std::optional<std::int64_t>>& values) {
  const auto read = known(values);
  if (read.empty()) return std::nullopt;
  std::int64_t reasons = 0;
  for (int bit = 0; bit < kReasonBits; ++bit) {
    const auto mask = std::int64_t{1} << bit;
    const auto seen = std::count_if(read.begin(), read.end(), [&](std::int64_t one) { return (one & mask) != 0; });
    if (seen > 0 && static_cast<std::size_t>(seen) * kSeenOften >= read.size()) reasons |= mask;
  }
  return reasons;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  text = trim(text);
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

/// The hottest zone that the firmware describes; a GPU reads up to 20 degrees less.
std::optional<std::int64_t> hottest_zone() {
  constexpr std::int64_t kMillidegrees = 1000;
  std::optional<std::int64_t> hottest;
  std::error_code error;
  for (std::filesystem::directory_iterator zone("/sys/class/thermal", error), end; !error && zone != end;
       zone.increment(error)) {
    const auto type = nccl::read_text(zone->path() / "type");
    if (!type || trim(*type) != "acpitz") continue;
    const auto text = nccl::read_text(zone->path() / "temp");
    const auto degrees = text ? number_in(*text) : std::nullopt;
    if (degrees) hottest = std::max(hottest.value_or(*degrees / kMillidegrees), *degrees / kMillidegrees);
  }
  return hottest;
}

/// One GPU on its way through the measurement.
struct Place {
  cuda::Device device = 0;
  std::optional<nvml::Device> handle;
  bool is_free = false;  ///< NVML knows of no program on it. What NVML does not know may be a job.
  bool may_be_measured = false;
  GpuReport report = {};
};

GpuTrouble trouble_of(GpuFault fault, Error error) { return {fault, std::move(error)}; }

void read_samples(const nvml::Library& nvml, nvml::Device handle, Samples& into) {
  into.clocks.push_back(nvml.clock_mhz(handle));
  into.reasons.push_back(nvml.reasons(handle));
  into.watts.push_back(nvml.power_watts(handle));
  into.celsius.push_back(nvml.celsius(handle));
  into.states.push_back(nvml.state(handle));
  into.zones.push_back(hottest_zone());
}

void measure(const cuda::Functions& driver, const nvml::Library* nvml, const MeasureGpus& command, Place& place) {
  Bench bench(driver);
  Samples samples;
  GpuLoad load;
  const auto sample = [&] {
    if (nvml != nullptr && place.handle) read_samples(*nvml, *place.handle, samples);
  };
  auto done = bench.open(place.device);
  if (done) done = bench.calculate(std::chrono::milliseconds(command.load_ms), sample, load);
  const bool has_calculated = done.has_value();
  if (done) done = bench.copy(load);
  if (!done) place.report.trouble = trouble_of(bench.fault(), std::move(done).error());
  if (!has_calculated) return;
  sum_up(samples, load);
  place.report.load = load;
}

/// The programs on a GPU. Waits until `deadline` for tests like this one to leave it.
std::optional<std::vector<GpuProcess>> list_processes(const nvml::Library& nvml, nvml::Device handle,
                                                      Deadline deadline) {
  const auto comm = nccl::read_text("/proc/self/comm");
  const auto own_name = comm ? printable(trim(*comm)) : "";
  while (true) {
    auto processes = nvml.processes_on(handle);
    const bool leaving =
        processes && !own_name.empty() &&
        std::any_of(processes->begin(), processes->end(), [&](const GpuProcess& one) { return one.name == own_name; });
    if (!leaving || std::chrono::steady_clock::now() >= deadline) return processes;
    std::this_thread::sleep_for(kBetweenLists);
  }
}

void read_with_nvml(const nvml::Library& nvml, Deadline deadline, Place& place) {
  GpuReport& report = place.report;
  report.processes_unknown = true;
  auto handle = nvml.device_at(report.bus);
  if (!handle) return;
  place.handle = *handle;
  report.highest_mhz = nvml.highest_mhz(*handle);
  report.power_limit_watts = nvml.power_limit_watts(*handle);
  report.slowdown_celsius = nvml.slowdown_celsius(*handle);
  report.ecc_corrected = nvml.ecc_errors(*handle, nvml::kCorrectedErrors);
  report.ecc_uncorrected = nvml.ecc_errors(*handle, nvml::kUncorrectedErrors);
  const auto processes = list_processes(nvml, *handle, deadline);
  place.is_free = processes && processes->empty();
  report.processes_unknown = !processes;
  report.processes = processes.value_or(std::vector<GpuProcess>());
}

Place find_gpu(const cuda::Functions& driver, const nvml::Library* nvml, int ordinal, const MeasureGpus& command,
               Deadline deadline) {
  Place place;
  std::array<char, 256> name{};
  std::array<char, 64> bus{};
  auto status = driver.cuDeviceGet(&place.device, ordinal);
  if (status == cuda::kSuccess) {
    status = driver.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), place.device);
  }
  if (status == cuda::kSuccess) {
    status = driver.cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size() - 1), place.device);
  }
  if (status != cuda::kSuccess) {
    place.report.trouble =
        trouble_of(GpuFault::kCuda, make_error(ErrorCode::kFailed, "find the GPU: " + cuda::describe(driver, status)));
    return place;
  }
  place.report.name = name.data();
  place.report.bus = bus.data();
  if (nvml != nullptr) read_with_nvml(*nvml, deadline, place);
  place.may_be_measured = command.load_ms > 0 && (command.force || place.is_free);
  return place;
}

RankFailure no_gpu(int count) {
  return {
      RankFault::kNoGpu, make_error(ErrorCode::kNotFound, "the driver shows " + std::to_string(count) + " GPUs"), {}};
}

}  // namespace

void sum_up(const Samples& samples, GpuLoad& into) {
  into.samples = static_cast<std::int64_t>(samples.clocks.size());
  into.clock_mhz = median(samples.clocks);
  into.power_watts = median(samples.watts);
  into.celsius = highest(samples.celsius);
  into.zone_celsius = highest(samples.zones);
  into.state = median(samples.states);
  into.reasons = frequent_reasons(samples.reasons);
}

RankAnswer measure_gpus(const MeasureGpus& command) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  const auto driver = cuda::load_driver();
  if (!driver) return RankFailure{RankFault::kNoDriver, driver.error(), {}};
  int count = 0;
  auto status = driver->cuInit(0);
  if (status == cuda::kNoDevice) return no_gpu(0);
  if (status == cuda::kSuccess) status = driver->cuDeviceGetCount(&count);
  if (status != cuda::kSuccess) {
    const auto text = "initialize the driver: " + cuda::describe(*driver, status);
    return RankFailure{RankFault::kCuda, make_error(ErrorCode::kFailed, text), {}};
  }
  if (count <= 0) return no_gpu(count);
  MeasuredGpus answer;
  int version = 0;
  if (driver->cuDriverGetVersion(&version) == cuda::kSuccess) answer.cuda_version = version;
  const auto loaded = nvml::Library::load();
  const nvml::Library* nvml = loaded ? &*loaded : nullptr;
  if (nvml != nullptr) answer.driver = nvml->driver_version();
  if (nvml == nullptr) answer.nvml_missing = loaded.error().describe();
  std::vector<Place> places;
  const auto deadline = std::chrono::steady_clock::now() + kLeaving;
  for (int i = 0; i < std::min(count, kMostGpus); ++i) places.push_back(find_gpu(*driver, nvml, i, command, deadline));
  {
    std::vector<std::jthread> threads;
    for (Place& place : places) {
      if (!place.may_be_measured) continue;
      add_thread_or_run(threads, [&] { measure(*driver, nvml, command, place); });
    }
  }
  for (Place& place : places) answer.gpus.push_back(std::move(place.report));
  return answer;
}

}  // namespace sparkplan::gpu
