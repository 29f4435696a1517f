#include "engine/verify/levels/gpu_checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/doctor/gpu_bands.h"

namespace sparkplan {
namespace {

RowId gpu_row_of(const NcclFailure& failure) {
  switch (failure.trouble) {
    case NcclTrouble::kEnded:
      return "nccl-rank-ended";
    case NcclTrouble::kSilent:
      return "gpu-hangs";
    case NcclTrouble::kFault:
      if (failure.fault == RankFault::kNoDriver || failure.fault == RankFault::kNoGpu) return "nccl-no-gpu";
      return "nccl-cuda-error";
    case NcclTrouble::kConnection:
    case NcclTrouble::kMixedVersions:
    case NcclTrouble::kStopped:
      break;
  }
  return "nccl-not-started";
}

RowId gpu_row_of(GpuFault fault) {
  switch (fault) {
    case GpuFault::kMemory:
      return "nccl-memory";
    case GpuFault::kHangs:
      return "gpu-hangs";
    case GpuFault::kCuda:
      break;
  }
  return "nccl-cuda-error";
}

Check check_of_failure(const GpuNode& node, const NcclFailure& failure) {
  Check check = skipped(Level::kGpu, {node.name}, "", "stopped");
  if (failure.trouble == NcclTrouble::kStopped) return check;
  const RowId row = gpu_row_of(failure);
  const bool no_gpu = row == RowId("nccl-no-gpu");
  check.text = no_gpu ? "no GPU" : "the GPU was not measured";
  diagnose(check, no_gpu && !node.spark ? CheckStatus::kSkip : CheckStatus::kFail, row, failure.error.describe());
  // These errors name the cause themselves.
  if (no_gpu || failure.trouble == NcclTrouble::kConnection) check.cause = failure.error.describe();
  if (failure.trouble == NcclTrouble::kConnection && !failure.error.hint.empty()) check.fix = failure.error.hint;
  return check;
}

std::string version_text(std::int64_t cuda) {
  return std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

/// "NVIDIA GB10", "8 x NVIDIA H100"
std::string models_in(const MeasuredGpus& measured) {
  std::vector<std::pair<std::string, int>> models;
  for (const GpuReport& gpu : measured.gpus) {
    const auto known = std::ranges::find_if(models, [&](const auto& one) { return one.first == gpu.name; });
    if (known == models.end()) {
      models.emplace_back(gpu.name, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : models) {
    parts.push_back((count > 1 ? std::to_string(count) + " x " : "") + (name.empty() ? "a GPU without a name" : name));
  }
  return join(parts, ", ");
}

Check check_of_node(const GpuNode& node, const MeasuredGpus& measured) {
  Check check = skipped(Level::kGpu, {node.name}, "", "");
  check.pass(models_in(measured) + (measured.driver.empty() ? "" : ", driver " + measured.driver) + ", CUDA " +
             version_text(measured.cuda_version));
  if (!measured.nvml_missing.empty()) diagnose(check, CheckStatus::kWarn, "gpu-no-nvml", measured.nvml_missing);
  return check;
}

/// "3/" for a GPU of a node with several.
std::string prefix_of(std::size_t gpu, const MeasuredGpus& measured) {
  return measured.gpus.size() > 1 ? std::to_string(gpu) + "/" : std::string();
}

/// "python3 (pid 1234), pid 77"
std::string names_of_programs(const std::vector<GpuProcess>& processes) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const GpuProcess& one : processes) {
    if (names.size() == kMost) break;
    const auto pid = "pid " + std::to_string(one.pid);
    names.push_back(one.name.empty() ? pid : shown_text(one.name) + (one.pid > 0 ? " (" + pid + ")" : ""));
  }
  const auto more = processes.size() - names.size();
  return join(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

/// Why a GPU with these programs is not measured. None: they are unknown.
void explain_use(Check& check, const std::vector<GpuProcess>& processes, bool has_nvml) {
  if (processes.empty()) {
    check.cause =
        has_nvml ? "NVML does not know the programs on the GPU" : "without NVML, programs on the GPU are unknown";
    check.fix = "measure it all the same with --force";
    return;
  }
  check.cause = "the GPU is in use by " + names_of_programs(processes);
  check.fix = "end the job, or measure beside it with --force";
}

std::string reasons_text(std::int64_t reasons) {
  std::vector<std::string> words;
  const auto add = [&](std::int64_t bits, const char* word) {
    if ((reasons & bits) != 0) words.emplace_back(word);
  };
  add(kHeatReasons, "heat");
  add(kClockPowerBrake, "power");
  add(kClockPowerCap, "its limit of power");
  add(kClockSetting, "a clock that someone set");
  add(kClockSync | kClockDisplay, "another setting");
  if ((reasons & (kHeatReasons | kClockPowerBrake)) == 0) add(kClockHardware, "the hardware");
  return join(words, ", ");
}

std::string state_text(const GpuLoad& load) { return load.state ? "P" + std::to_string(*load.state) : ""; }

/// The checks of one GPU. `prefix` is "3/" in a node with several.
class GpuChecks {
 public:
  GpuChecks(const GpuNode& node, const GpuReport& gpu, std::string prefix)
      : node_(node), gpu_(gpu), prefix_(std::move(prefix)) {}

  std::vector<Check> all(bool has_nvml) {
    if (gpu_.trouble) add_trouble(*gpu_.trouble);
    if (!gpu_.load && !gpu_.trouble) explain_use(add("use"), gpu_.processes, has_nvml);
    if (gpu_.load) {
      if (!gpu_.processes.empty()) add("use").pass("measured beside " + names_of_programs(gpu_.processes));
      add_clock(*gpu_.load);
      add_power(*gpu_.load);
      add_temperature(*gpu_.load);
      add_rates(*gpu_.load);
    }
    return std::move(checks_);
  }

 private:
  Check& add(const std::string& what) {
    checks_.push_back(skipped(Level::kGpu, {node_.name}, prefix_ + what, "the driver does not report it"));
    return checks_.back();
  }

  static void put(Check& check, const std::string& text, double value, const std::string& unit) {
    check.pass(text);
    check.value = value;
    check.unit = unit;
  }

  void add_trouble(const GpuTrouble& trouble) {
    Check& check = add("load");
    check.text = "the measurement failed";
    diagnose(check, CheckStatus::kFail, gpu_row_of(trouble.fault), trouble.error.describe());
  }

  void add_clock(const GpuLoad& load) {
    Check& check = add("clock");
    if (!load.clock_mhz) return;
    const auto reasons = load.reasons.value_or(0);
    put(check, "SM clock under load", static_cast<double>(*load.clock_mhz), "MHz");
    const auto judged = judge_gpu_clock({node_.spark, *load.clock_mhz, gpu_.highest_mhz, load.power_watts, reasons});
    check.threshold = judged.threshold;
    const auto limits = reasons_text(reasons);
    if (!limits.empty()) check.text += ", lowered by " + limits;
    if (!judged.row) return;
    std::vector<std::string> seen{number_text(*check.value) + " MHz"};
    if (!limits.empty()) seen.push_back("lowered by " + limits);
    if (load.power_watts) seen.push_back(number_text(std::round(*load.power_watts)) + " W");
    if (load.celsius) seen.push_back(std::to_string(*load.celsius) + " C");
    if (load.state) seen.push_back(state_text(load));
    diagnose(check, judged.status, judged.row, join(seen, ", "));
  }

  void add_power(const GpuLoad& load) {
    Check& check = add("power");
    if (!load.power_watts) return;
    put(check, "power under load", *load.power_watts, "W");
    if (gpu_.power_limit_watts) check.text += ", limit " + number_text(*gpu_.power_limit_watts) + " W";
  }

  void add_temperature(const GpuLoad& load) {
    Check& check = add("temperature");
    if (load.celsius) {
      put(check, "temperature under load", static_cast<double>(*load.celsius), "C");
      if (gpu_.slowdown_celsius) check.threshold = static_cast<double>(*gpu_.slowdown_celsius);
    }
    if (check.threshold && *check.threshold > 0 && *check.value >= *check.threshold) {
      diagnose(check, CheckStatus::kWarn, "gpu-throttled", "the GPU lowers its clock from this temperature on");
    }
    if (!node_.spark || !load.zone_celsius || *load.zone_celsius < kHotZone) return;
    check.text = "temperature under load";
    diagnose(check, CheckStatus::kFail, "gpu-hot", "acpitz reads " + std::to_string(*load.zone_celsius) + " C");
  }

  /// A node that claims a measurement, and no rate, must not pass.
  static void fail_without_rate(Check& check) {
    check.text = "the measurement failed";
    diagnose(check, CheckStatus::kFail, gpu_row_of(GpuFault::kCuda), "the node reports a measurement without a rate");
  }

  void add_compute(const GpuLoad& load) {
    Check& check = add("compute");
    if (load.teraflops <= 0) {
      fail_without_rate(check);
    } else {
      put(check, "FP32 multiply-adds", load.teraflops, "TFLOP/s");
    }
    if (load.wrong > 0) {
      diagnose(check, CheckStatus::kFail, "gpu-wrong-results", std::to_string(load.wrong) + " wrong values");
    }
  }

  void add_rates(const GpuLoad& load) {
    add_compute(load);
    // "load" has the reason.
    if (load.copied_bytes == 0 && gpu_.trouble) return;
    Check& copy = add("bandwidth");
    if (load.copied_bytes == 0 || load.copy_gigabytes <= 0) return fail_without_rate(copy);
    put(copy, "copy of " + std::to_string(load.copied_bytes >> 20) + " MiB in the GPU's memory", load.copy_gigabytes,
        "GB/s");
    const auto judged = judge_gpu_copy(load.copy_gigabytes, node_.spark);
    copy.threshold = judged.threshold;
    if (judged.row) diagnose(copy, judged.status, judged.row);
  }

  const GpuNode& node_;
  const GpuReport& gpu_;
  std::string prefix_;
  std::vector<Check> checks_;
};

std::int64_t total(const MeasuredGpus& measured, std::optional<std::int64_t> GpuReport::*count) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;  // A node may report any number, and the sum must not overflow.
  std::int64_t sum = 0;
  for (const GpuReport& gpu : measured.gpus) sum += std::min((gpu.*count).value_or(0), kMost);
  return sum;
}

bool reports_ecc(const MeasuredGpus& measured) {
  return std::ranges::any_of(measured.gpus, [](const GpuReport& gpu) { return gpu.ecc_uncorrected.has_value(); });
}

std::string xid_text(const GpuNode& node) {
  if (!node.log) return "the kernel's log was not read: " + node.log_unread;
  const auto where = node.log->since_boot ? "since the boot" : "in the part of the kernel's log that is left";
  if (node.log->count == 0) return std::string("no Xid ") + where;
  return std::to_string(node.log->count) + (node.log->count == 1 ? " Xid " : " Xids ") + where;
}

void put_xids(const GpuNode& node, Check& check) {
  if (!node.log) return;
  auto worst = CheckStatus::kPass;
  const GpuError* shown = nullptr;
  for (const GpuError& error : node.log->errors) {
    const auto status = status_of_xid(error.xid);
    const bool worse = status == CheckStatus::kFail || (status == CheckStatus::kWarn && worst == CheckStatus::kPass);
    // Of equal ones, the newest.
    if (!worse && status != worst) continue;
    worst = worse ? status : worst;
    shown = &error;
  }
  if (worst != CheckStatus::kPass && shown != nullptr) diagnose(check, worst, "gpu-xid", shown->line);
}

/// An answer without any GPU is none: the program reports a failure instead.
std::optional<NcclFailure> failure_of(const GpuOutcome& outcome) {
  if (outcome.failure || !outcome.measured || !outcome.measured->gpus.empty()) return outcome.failure;
  return NcclFailure{NcclTrouble::kFault,
                     NcclPhase::kRun,
                     0,
                     RankFault::kNoGpu,
                     make_error(ErrorCode::kFailed, "the answer of the node names no GPU"),
                     {}};
}

/// For a node whose GPUs did not answer.
Check check_of_log(const GpuNode& node) {
  Check check = skipped(Level::kGpu, {node.name}, "errors", "");
  check.pass(xid_text(node));
  put_xids(node, check);
  return check;
}

Check check_of_errors(const GpuNode& node, const MeasuredGpus& measured) {
  Check check = skipped(Level::kGpu, {node.name}, "errors", "");
  const auto corrected = total(measured, &GpuReport::ecc_corrected);
  const auto uncorrected = total(measured, &GpuReport::ecc_uncorrected);
  std::string ecc = reports_ecc(measured) ? "no ECC error" : "ECC is not reported";
  if (corrected > 0) ecc = std::to_string(corrected) + " corrected ECC errors";
  if (uncorrected > 0) ecc = std::to_string(uncorrected) + " uncorrected ECC errors";
  check.pass(ecc + "; " + xid_text(node));
  put_xids(node, check);
  if (uncorrected > 0) diagnose(check, CheckStatus::kFail, "gpu-ecc", ecc);
  if (check.status == CheckStatus::kPass && !node.log && !reports_ecc(measured)) {
    check.status = CheckStatus::kSkip;
    check.cause = check.text;
  }
  return check;
}

}  // namespace

std::vector<Check> checks_of_gpus(const GpuNode& node) {
  std::vector<Check> checks;
  const auto failure = failure_of(node.outcome);
  if (failure) {
    checks.push_back(check_of_failure(node, *failure));
    if (node.log && node.log->count > 0) checks.push_back(check_of_log(node));
  }
  if (node.outcome.measured && !failure) {
    const MeasuredGpus& measured = *node.outcome.measured;
    checks.push_back(check_of_node(node, measured));
    for (std::size_t i = 0; i < measured.gpus.size(); ++i) {
      append(checks, GpuChecks(node, measured.gpus[i], prefix_of(i, measured)).all(measured.nvml_missing.empty()));
    }
    checks.push_back(check_of_errors(node, measured));
  }
  if (node.outcome.left_running) {
    Check check = skipped(Level::kGpu, {node.name}, "program", "");
    check.text = "the test's program may still be running";
    diagnose(check, CheckStatus::kFail, "nccl-rank-left", node.name);
    checks.push_back(std::move(check));
  }
  return checks;
}

std::vector<Check> checks_of_use(const std::string& node, const GpuOutcome& seen, bool force) {
  std::vector<Check> checks;
  if (!seen.measured) return checks;
  for (std::size_t i = 0; i < seen.measured->gpus.size(); ++i) {
    const GpuReport& gpu = seen.measured->gpus[i];
    const bool unknown = gpu.processes_unknown && seen.measured->nvml_missing.empty();
    if (gpu.processes.empty() && !unknown) continue;
    Check check = skipped(Level::kNccl, {node}, prefix_of(i, *seen.measured) + "use", "");
    if (gpu.processes.empty()) {
      check.pass("measured, though NVML does not know the programs on the GPU");
    } else if (force) {
      check.pass("measured beside " + names_of_programs(gpu.processes));
    } else {
      explain_use(check, gpu.processes, true);
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

bool forbids_ranks(const std::vector<Check>& uses) {
  return std::any_of(uses.begin(), uses.end(), [](const Check& use) { return use.status == CheckStatus::kSkip; });
}

}  // namespace sparkplan
