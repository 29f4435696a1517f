#include "engine/agent/state/lock_breaker.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/agent/state/node_lock.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstalledAgent = "/usr/local/libexec/sparkplan/agent";
constexpr std::chrono::milliseconds kTimeToEnd{2000};

/// A program that was replaced while it ran is called so.
std::string without_deleted(std::string path) {
  constexpr std::string_view kMark = " (deleted)";
  if (path.ends_with(kMark)) path.resize(path.size() - kMark.size());
  return path;
}

std::string program_of(const std::string& process) {
  std::error_code gone;
  return without_deleted(fs::read_symlink("/proc/" + process + "/exe", gone).string());
}

bool is_agent(std::int64_t process) {
  const auto program = program_of(std::to_string(process));
  return !program.empty() && (program == kInstalledAgent || program == program_of("self"));
}

/// The dead-man's switch of a network change: it has to find the node as its change has left it.
Result<void> check_no_open_window(const LocalNode& node) {
  const auto directory = fs::path(kStateDirectory) / "txn";
  const auto names = node.list_directory(directory);
  if (!names && names.error().code == ErrorCode::kNotFound) return {};
  if (!names) return failure(Error(names.error()));
  for (const auto& name : *names) {
    if (!node.status(directory / name / "armed")) continue;
    return failure(ErrorCode::kRefused, "a network change is open there, which is confirmed or taken back by itself",
                   "wait for the end of its window, and look again");
  }
  return {};
}

bool ended(int process, std::chrono::milliseconds patience) {
  pollfd exit{process, POLLIN, 0};
  return ::poll(&exit, 1, static_cast<int>(patience.count())) == 1;
}

Result<void> end(int process) {
  // A file is written whole or not at all, and the journal tells what was begun: the same as a power cut.
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0) != 0 && errno != ESRCH)
      return failure(system_error("end the agent that holds the lock", errno));
    if (ended(process, kTimeToEnd)) return {};
  }
  return failure(ErrorCode::kUnreachable, "the agent that holds the lock does not end",
                 "it may wait for a disk or a driver that does not answer");
}

}  // namespace

Result<void> break_lock(const BreakLockRequest& request, const LocalNode& node) {
  SPARK_TRY(const auto held, locking_agent(node));
  if (!held) return failure(ErrorCode::kNotFound, "nobody holds the lock");
  if (held->holder.describe() != request.holder)
    return failure(ErrorCode::kBusy, "by now it is locked by " + held->holder.describe());
  SPARK_CHECK(check_no_open_window(node));
  const auto opened = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(held->process), 0));
  if (opened < 0 && errno != ESRCH && errno != EINVAL)
    return failure(system_error("look at the agent that holds the lock", errno));
  const FileDescriptor process(opened);
  // From here on the number cannot become another process's without our noticing.
  if (opened < 0 || held->process <= 1 || start_of_process(held->process) != held->started ||
      !is_agent(held->process)) {
    return failure(ErrorCode::kRefused, "what holds the lock is not the agent that its file names",
                   "find it on the node: fuser -v /run/sparkplan/lock");
  }
  return end(process.get());
}

}  // namespace sparkplan
