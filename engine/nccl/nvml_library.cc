#include "engine/nccl/nvml_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/core/text.h"
#include "engine/nccl/environment.h"
#include "engine/nccl/shared_library.h"

namespace sparkplan::nvml {
namespace {

constexpr std::size_t kMostProcesses = 16;
constexpr double kMilliwattsPerWatt = 1000;
/// The performance state of a GPU that has none. Source: nvml.h, NVML_PSTATE_UNKNOWN.
constexpr int kUnknownState = 32;

/// The first of two names that the library has.
template <class Function>
Result<void> find_either(const SharedLibrary& in, const char* name, const char* older, Function& into) {
  if (in.find(name, into)) return {};
  return in.find(older, into);
}

template <class Function>
void find_optional(const SharedLibrary& in, const char* name, Function& into) {
  if (!in.find(name, into)) into = nullptr;
}

Result<Functions> find_functions(const SharedLibrary& in) {
  Functions f{};
  SPARK_CHECK(in.find("nvmlInit_v2", f.nvmlInit));
  SPARK_CHECK(in.find("nvmlErrorString", f.nvmlErrorString));
  SPARK_CHECK(in.find("nvmlSystemGetDriverVersion", f.nvmlSystemGetDriverVersion));
  SPARK_CHECK(in.find("nvmlDeviceGetHandleByPciBusId_v2", f.nvmlDeviceGetHandleByPciBusId));
  // Both versions have the same structure.
  SPARK_CHECK(find_either(in, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
                          f.nvmlDeviceGetComputeRunningProcesses));
  SPARK_CHECK(in.find("nvmlDeviceGetClockInfo", f.nvmlDeviceGetClockInfo));
  find_optional(in, "nvmlDeviceGetMaxClockInfo", f.nvmlDeviceGetMaxClockInfo);
  find_optional(in, "nvmlDeviceGetTemperature", f.nvmlDeviceGetTemperature);
  find_optional(in, "nvmlDeviceGetTemperatureThreshold", f.nvmlDeviceGetTemperatureThreshold);
  find_optional(in, "nvmlDeviceGetPowerUsage", f.nvmlDeviceGetPowerUsage);
  find_optional(in, "nvmlDeviceGetEnforcedPowerLimit", f.nvmlDeviceGetEnforcedPowerLimit);
  find_optional(in, "nvmlDeviceGetPerformanceState", f.nvmlDeviceGetPerformanceState);
  find_optional(in, "nvmlDeviceGetTotalEccErrors", f.nvmlDeviceGetTotalEccErrors);
  // The name before release 535.
  if (!find_either(in, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
                   f.nvmlDeviceGetCurrentClocksEventReasons)) {
    f.nvmlDeviceGetCurrentClocksEventReasons = nullptr;
  }
  return f;
}

/// A process in another namespace has no readable name.
std::string name_of(std::int64_t pid) {
  const auto comm = nccl::read_text("/proc/" + std::to_string(pid) + "/comm");
  return comm ? printable(trim(*comm)) : "";
}

std::int64_t as_signed(unsigned long long number) {
  constexpr auto kMost = static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, kMost));
}

template <class... Parameters, class... Arguments>
std::optional<std::int64_t> number_from(Status (*function)(Device, Parameters...), Device device,
                                        Arguments... arguments) {
  unsigned int number = 0;
  if (function == nullptr || function(device, arguments..., &number) != kSuccess) return std::nullopt;
  return number;
}

std::optional<double> watts(std::optional<std::int64_t> milliwatts) {
  if (!milliwatts) return std::nullopt;
  return static_cast<double>(*milliwatts) / kMilliwattsPerWatt;
}

}  // namespace

Result<Library> Library::load() {
  void* handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(ErrorCode::kNotFound, "there is no NVML (" + loader_complaint() + ")");
  SPARK_TRY(const auto functions, find_functions({handle, "NVML"}));
  const auto status = functions.nvmlInit();
  if (status != kSuccess) {
    const char* text = functions.nvmlErrorString(status);
    return failure(ErrorCode::kFailed, std::string("NVML does not start: ") + (text == nullptr ? "no reason" : text));
  }
  return Library(functions);
}

std::string Library::driver_version() const {
  std::array<char, 80> version{};
  const auto status =
      functions_.nvmlSystemGetDriverVersion(version.data(), static_cast<unsigned int>(version.size() - 1));
  return status == kSuccess ? version.data() : "";
}

Result<Device> Library::device_at(const std::string& bus) const {
  Device device = nullptr;
  const auto status = functions_.nvmlDeviceGetHandleByPciBusId(bus.c_str(), &device);
  if (status == kSuccess) return device;
  const char* text = functions_.nvmlErrorString(status);
  return failure(ErrorCode::kFailed, "NVML does not know the GPU at " + bus + ": " + (text == nullptr ? "" : text));
}

std::optional<std::vector<GpuProcess>> Library::processes_on(Device device) const {
  std::vector<ProcessInfo> found(256);
  auto count = static_cast<unsigned int>(found.size());
  const auto status = functions_.nvmlDeviceGetComputeRunningProcesses(device, &count, found.data());
  // More than fit are programs, too.
  if (status == kInsufficientSize) return std::vector<GpuProcess>{{0, "more than 256 programs"}};
  // This driver lists the programs of no GPU, so an empty list proves nothing.
  if (status == kNotSupported) return std::vector<GpuProcess>();
  if (status != kSuccess) return std::nullopt;
  found.resize(std::min<std::size_t>(count, std::min(found.size(), kMostProcesses)));
  std::vector<GpuProcess> processes;
  for (const ProcessInfo& one : found) processes.push_back({one.pid, name_of(one.pid)});
  return processes;
}

std::optional<std::int64_t> Library::clock_mhz(Device device) const {
  return number_from(functions_.nvmlDeviceGetClockInfo, device, kSmClock);
}
std::optional<std::int64_t> Library::highest_mhz(Device device) const {
  return number_from(functions_.nvmlDeviceGetMaxClockInfo, device, kSmClock);
}
std::optional<std::int64_t> Library::celsius(Device device) const {
  return number_from(functions_.nvmlDeviceGetTemperature, device, kGpuSensor);
}
std::optional<std::int64_t> Library::slowdown_celsius(Device device) const {
  return number_from(functions_.nvmlDeviceGetTemperatureThreshold, device, kSlowdownThreshold);
}
std::optional<double> Library::power_watts(Device device) const {
  return watts(number_from(functions_.nvmlDeviceGetPowerUsage, device));
}
std::optional<double> Library::power_limit_watts(Device device) const {
  return watts(number_from(functions_.nvmlDeviceGetEnforcedPowerLimit, device));
}

std::optional<std::int64_t> Library::state(Device device) const {
  int state = 0;
  const auto function = functions_.nvmlDeviceGetPerformanceState;
  if (function == nullptr || function(device, &state) != kSuccess) return std::nullopt;
  if (state < 0 || state >= kUnknownState) return std::nullopt;
  return state;
}

std::optional<std::int64_t> Library::reasons(Device device) const {
  unsigned long long reasons = 0;
  const auto function = functions_.nvmlDeviceGetCurrentClocksEventReasons;
  if (function == nullptr || function(device, &reasons) != kSuccess) return std::nullopt;
  return as_signed(reasons);
}

std::optional<std::int64_t> Library::ecc_errors(Device device, int kind) const {
  unsigned long long count = 0;
  const auto function = functions_.nvmlDeviceGetTotalEccErrors;
  if (function == nullptr || function(device, kind, kSinceDriverLoad, &count) != kSuccess) return std::nullopt;
  return as_signed(count);
}

}  // namespace sparkplan::nvml
