// libnvidia-ml.so.1 for tests, used with fake_cuda.cc. Like a GB10 it reports no limit of power and no ECC, unless a
// variable asks for it; see variables.h:
//   FAKE_GPU_NVML=broken      it does not start
//   FAKE_GPU_DRIVER=VERSION   the driver's version
//   FAKE_GPU_CLOCK=MHZ        the clock (default 2400); "none": not reported
//   FAKE_GPU_WATTS=N          the power (default 85); "none": not reported
//   FAKE_GPU_CELSIUS=N        the temperature (default 65)
//   FAKE_GPU_REASONS=BITS     why the clock is low (default 0)
//   FAKE_GPU_PROCESS=PID      this process computes on each GPU; "unknown": the list fails; "unsupported": no list;
//                             "leaving": a program with the name of the one that asks, which soon ends
//   FAKE_GPU_PROCESS_OF=PATH  only for the first program that asks: it creates the file PATH
//   FAKE_GPU_DESKTOP=PID      this process draws on each GPU
//   FAKE_GPU_ECC=N            N errors of memory that could not be corrected
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fake_gpu/variables.h"

namespace {

using sparkplan::test::number;
using sparkplan::test::variable;

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr int kUnknown = 999;
constexpr unsigned int kHighestMhz = 3003;
constexpr unsigned int kSlowdownCelsius = 97;
constexpr int kUncorrected = 1;

struct Process {
  unsigned int pid;
  unsigned long long memory_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

/// The variable's number times `factor`, unless it is "none".
int report(unsigned int* value, const char* name, double otherwise, double factor = 1) {
  if (variable(name) == "none") return kNotSupported;
  return *value = static_cast<unsigned int>(number(name, otherwise) * factor), kSuccess;
}

/// A list of this process, or of none.
int list(const std::string& pid, unsigned int* count, Process* processes) {
  const unsigned int room = *count;
  *count = pid.empty() ? 0 : 1;
  if (pid.empty()) return kSuccess;
  if (room == 0) return kInsufficientSize;
  processes[0] = {static_cast<unsigned int>(std::stoul(pid)), 0, 0, 0};
  return kSuccess;
}

/// True for the first program that asks.
bool is_first(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  return file >= 0 && ::close(file) == 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return variable("FAKE_GPU_NVML") == "broken" ? kUnknown : kSuccess; }
const char* nvmlErrorString(int status) { return status == kUnknown ? "Unknown Error" : "an error of a fake"; }
int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  const auto chosen = variable("FAKE_GPU_DRIVER");
  std::strncpy(version, chosen.empty() ? "580.159.03" : chosen.c_str(), length);
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  static char place = 0;
  return *device = &place, std::strlen(bus) == std::strlen("0000:00:00.0") ? kSuccess : kInvalidArgument;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, Process* processes) {
  const auto pid = variable("FAKE_GPU_PROCESS");
  if (pid == "unknown") return kUnknown;
  if (pid == "unsupported") return kNotSupported;
  if (pid == "leaving") {
    static int lists = 0;
    return list(++lists < 3 ? std::to_string(::getpid()) : "", count, processes);
  }
  const auto of = variable("FAKE_GPU_PROCESS_OF");
  return list(of.empty() || is_first(of) ? pid : "", count, processes);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned int* count, Process* processes) {
  return list(variable("FAKE_GPU_DESKTOP"), count, processes);
}
int nvmlDeviceGetClockInfo(void*, int, unsigned int* megahertz) { return report(megahertz, "FAKE_GPU_CLOCK", 2400); }
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned int* megahertz) { return *megahertz = kHighestMhz, kSuccess; }
int nvmlDeviceGetTemperature(void*, int, unsigned int* celsius) { return report(celsius, "FAKE_GPU_CELSIUS", 65); }
int nvmlDeviceGetTemperatureThreshold(void*, int, unsigned int* celsius) {
  return *celsius = kSlowdownCelsius, kSuccess;
}
int nvmlDeviceGetPowerUsage(void*, unsigned int* milliwatts) { return report(milliwatts, "FAKE_GPU_WATTS", 85, 1000); }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned int*) { return kNotSupported; }
int nvmlDeviceGetPerformanceState(void*, int* state) { return *state = 0, kSuccess; }
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  return *reasons = static_cast<unsigned long long>(number("FAKE_GPU_REASONS", 0)), kSuccess;
}
int nvmlDeviceGetTotalEccErrors(void*, int kind, int, unsigned long long* count) {
  if (variable("FAKE_GPU_ECC").empty()) return kNotSupported;
  return *count = kind == kUncorrected ? static_cast<unsigned long long>(number("FAKE_GPU_ECC", 0)) : 0, kSuccess;
}
}
