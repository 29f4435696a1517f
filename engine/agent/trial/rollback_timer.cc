#include "engine/agent/trial/rollback_timer.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kSystemctlDeadline{10'000};
constexpr const char* kUnitDirectory = "/etc/systemd/system";
constexpr const char* kRecoverUnit = "sparkplan-recover.service";
constexpr const char* kWantedBy = "sysinit.target.wants";
constexpr const char* kNoNet = "without it, nothing can roll back the change; pass --no-safety-net to apply it anyway";

/// Two names: a new timer starts before the old one stops, so that a crash between leaves one.
std::array<std::string, 2> unit_names(const std::string& run) {
  const std::string name = "sparkplan-rollback-" + run;
  return {name, name + "-extended"};
}

std::string said(const CommandOutput& output) {
  const std::string text(trim(output.standard_error));
  return text.empty() ? "exit " + std::to_string(output.exit_status) : text;
}

Result<std::string> output_of(const std::vector<std::string>& argv, LocalNode& node) {
  SPARK_TRY(const CommandOutput output, needs_program(node.run(argv, kSystemctlDeadline), argv.front(), kNoNet));
  if (output.exit_status != 0) {
    return failure(ErrorCode::kFailed, argv.front() + " could not start the timer: " + said(output), kNoNet);
  }
  return output.standard_output;
}

/// A daemon-reload has been seen to mangle a quoted command line, so this checks the command that systemd holds.
Result<void> check_that_it_waits(const std::string& unit, const std::string& run, const fs::path& program,
                                 LocalNode& node) {
  constexpr std::array<std::string_view, 1> kExecStart{"ExecStart"};
  SPARK_TRY(const bool waits, is_active(unit + ".timer", node, kSystemctlDeadline));
  SPARK_TRY(const auto service, node.units(std::array{unit + ".service"}, kExecStart, kSystemctlDeadline));
  const std::string command = "argv[]=" + program.string() + " --rollback " + run + " ;";
  if (waits && property_of(service.front(), "ExecStart").find(command) != std::string::npos) return {};
  return failure(ErrorCode::kFailed, "systemd has not set the rollback timer as requested", kNoNet);
}

std::string recover_unit(const std::string& run, const fs::path& program) {
  return "# Written by sparkplan while a change of the network is on trial, and gone with it.\n"
         "[Unit]\n"
         "Description=sparkplan: finish or undo the change that was on trial before this boot\n"
         "DefaultDependencies=no\n"
         "RequiresMountsFor=" +
         program.parent_path().string() +
         "\n"
         "After=local-fs.target\n"
         "Before=network-pre.target sysinit.target ssh.service ssh.socket shutdown.target\n"
         "Conflicts=shutdown.target\n"
         "Wants=network-pre.target\n"
         "ConditionPathExists=" +
         program.string() +
         "\n\n"
         "[Service]\n"
         "Type=oneshot\n"
         "TimeoutStartSec=60\n"
         "ExecStart=" +
         program.string() + " --recover " + run + "\n";
}

Result<void> enable_at_boot(LocalNode& node) {
  const fs::path wants = fs::path(kUnitDirectory) / kWantedBy;
  SPARK_CHECK(node.make_directories(wants));
  SPARK_TRY(const FileDescriptor directory, node.open_descriptor(wants, O_RDONLY | O_DIRECTORY));
  const auto target = (fs::path(kUnitDirectory) / kRecoverUnit).string();
  if (::symlinkat(target.c_str(), directory.get(), kRecoverUnit) != 0 && errno != EEXIST) {
    return failure(file_error("make", wants / kRecoverUnit));
  }
  if (::fsync(directory.get()) != 0) return failure(file_error("sync", wants));
  return {};
}

Result<void> can_be_executed(const fs::path& program) {
  struct statvfs file_system {};
  if (::statvfs(program.c_str(), &file_system) != 0) return failure(file_error("stat", program));
  if ((file_system.f_flag & static_cast<unsigned long>(ST_NOEXEC)) == 0) return {};
  return failure(ErrorCode::kUnsupported, "programs cannot run below " + program.parent_path().string(), kNoNet);
}

}  // namespace

Result<void> SystemdRollbackTimer::start(const std::string& run, const fs::path& program, std::chrono::seconds window,
                                         LocalNode& node) {
  SPARK_CHECK(can_be_executed(program));
  if (!node.status("/run/systemd/system")) {
    return failure(ErrorCode::kUnsupported, "systemd is not running on this node", kNoNet);
  }
  auto [unit, former] = unit_names(run);
  if (is_active(unit + ".timer", node, kSystemctlDeadline).value_or(false)) std::swap(unit, former);
  // Monotonic, so that changes of the clock do not matter. The default accuracy is a minute.
  SPARK_CHECK(output_of(
      {"systemd-run", "--quiet", "--collect", "--unit=" + unit, "--description=sparkplan: undo an unconfirmed change",
       "--on-active=" + std::to_string(window.count()) + "s", "--timer-property=AccuracySec=200ms",
       "--property=Type=oneshot", "--property=TimeoutStartSec=300", program.string(), "--rollback", run},
      node));
  SPARK_CHECK(check_that_it_waits(unit, run, program, node));
  const std::vector<std::string> stop{"systemctl", "stop", former + ".timer"};
  if (is_active(former + ".timer", node, kSystemctlDeadline).value_or(false)) SPARK_CHECK(output_of(stop, node));
  return {};
}

Result<void> SystemdRollbackTimer::guard_boot(const std::string& run, const fs::path& program, LocalNode& node) {
  const FileContent unit{recover_unit(run, program), 0644, 0, 0};
  SPARK_CHECK(node.write_file(fs::path(kUnitDirectory) / kRecoverUnit, unit));
  return enable_at_boot(node);
}

Result<void> SystemdRollbackTimer::stop(const std::string& run, LocalNode& node) {
  // First, because it works even on a full disk. Stopping a missing timer, or the one that started us, does no harm.
  const auto [unit, extended] = unit_names(run);
  (void)node.run(std::vector<std::string>{"systemctl", "stop", unit + ".timer", extended + ".timer"},
                 kSystemctlDeadline);
  SPARK_CHECK(node.remove_file(fs::path(kUnitDirectory) / kWantedBy / kRecoverUnit));
  return node.remove_file(fs::path(kUnitDirectory) / kRecoverUnit);
}

}  // namespace sparkplan
