#include "engine/agent/state/node_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string>
#include <utility>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/core/json.h"

namespace sparkplan {
namespace {

/// An image has no own /run that would be emptied at boot.
std::filesystem::path lock_directory(const LocalNode& node) {
  return node.live() ? std::string_view(kLockDirectory) : kStateDirectory;
}

std::optional<LockingAgent> read_holder(int file) {
  std::array<char, 4096> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  const auto value = decode_json(std::string_view(text.data(), static_cast<std::size_t>(size)));
  if (!value) return std::nullopt;
  auto holder = decode<LockHolder>(*value);
  if (!holder) return std::nullopt;
  return LockingAgent{std::move(*holder), value->integer_or("agent", 0),
                      static_cast<std::uint64_t>(value->integer_or("agent_started", 0))};
}

constexpr const char* kInstalledAgent = "/usr/local/libexec/sparkplan/agent";
constexpr std::chrono::milliseconds kTimeToEnd{2000};

/// The kernel adds " (deleted)" to the path of a program that was replaced while it ran.
std::string without_deleted(std::string path) {
  constexpr std::string_view kMark = " (deleted)";
  if (path.ends_with(kMark)) path.resize(path.size() - kMark.size());
  return path;
}

std::string program_of(const std::string& process) {
  std::error_code gone;
  return without_deleted(std::filesystem::read_symlink("/proc/" + process + "/exe", gone).string());
}

bool is_agent(std::int64_t process) {
  const auto program = program_of(std::to_string(process));
  return !program.empty() && (program == kInstalledAgent || program == program_of("self"));
}

/// Refuses while a network change is on trial: its rollback must find the node as the change left it.
Result<void> check_no_open_window(const LocalNode& node) {
  const auto directory = std::filesystem::path(kStateDirectory) / "txn";
  SPARK_TRY(const auto names, or_empty(node.list_directory(directory)));
  for (const auto& name : names) {
    if (!node.status(directory / name / "armed")) continue;
    return failure(ErrorCode::kRefused, "a network change on the node waits for confirmation or rollback",
                   "wait for the end of its --confirm-timeout, then try again");
  }
  return {};
}

bool ended(int process, std::chrono::milliseconds patience) {
  pollfd exit{process, POLLIN, 0};
  return ::poll(&exit, 1, static_cast<int>(patience.count())) == 1;
}

Result<void> end(int process) {
  // Killing the agent is as safe as a power cut: files are written completely or not at all, and the journal has all
  // intents.
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0) != 0 && errno != ESRCH)
      return failure(system_error("end the agent that holds the lock", errno));
    if (ended(process, kTimeToEnd)) return {};
  }
  return failure(ErrorCode::kUnreachable, "the agent that holds the lock does not end",
                 "check the node's disks and drivers: the agent may be waiting for one that does not answer");
}

}  // namespace

Result<NodeLock> NodeLock::acquire(const LockHolder& holder, LocalNode& node) {
  SPARK_CHECK(node.make_directories(lock_directory(node), 0700));
  SPARK_TRY(FileDescriptor file,
            node.open_descriptor(lock_directory(node) / "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  auto range = lock_of_whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES) return failure(system_error("lock the node", errno));
    const auto other = read_holder(file.get());
    return failure(ErrorCode::kBusy, "locked by " + (other ? other->holder.describe() : std::string("another run")),
                   "wait for it, or set --lock-timeout");
  }
  Value content = encode(holder);
  content.set("agent", static_cast<std::int64_t>(::getpid()));
  content.set("agent_started", static_cast<std::int64_t>(start_of_process(::getpid())));
  const auto text = encode_json(content) + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return failure(system_error("write the lock", errno));
  }
  return NodeLock(std::move(file));
}

std::uint64_t start_of_process(std::int64_t process) {
  const std::string text = kernel_line("/proc/" + std::to_string(process) + "/stat");
  // The name, in parentheses, may contain anything; the next field is field 3.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  constexpr std::size_t kStarted = 19;
  const auto fields = split(trim(std::string_view(text).substr(name_end + 1)), ' ');
  std::uint64_t started = 0;
  if (fields.size() > kStarted) {
    std::from_chars(fields[kStarted].data(), fields[kStarted].data() + fields[kStarted].size(), started);
  }
  return started;
}

Result<std::optional<LockingAgent>> locking_agent(const LocalNode& node) {
  SPARK_TRY(const auto file, if_there(node.open_descriptor(lock_directory(node) / "lock", O_RDONLY | O_NOFOLLOW)));
  auto range = lock_of_whole_file(F_RDLCK);
  std::optional<LockingAgent> holder;
  if (file && ::fcntl(file->get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK) {
    holder = read_holder(file->get()).value_or(LockingAgent{LockHolder{"an unknown user", 0, "run", "?"}});
  }
  return holder;
}

Result<std::optional<LockHolder>> lock_holder(const LocalNode& node) {
  SPARK_TRY(auto held, locking_agent(node));
  return held ? std::optional<LockHolder>(std::move(held->holder)) : std::nullopt;
}

Result<void> break_lock(const BreakLockRequest& request, const LocalNode& node) {
  SPARK_TRY(const auto held, locking_agent(node));
  if (!held) return failure(ErrorCode::kNotFound, "the lock is free");
  if (held->holder.describe() != request.holder)
    return failure(ErrorCode::kBusy, "the lock is now held by " + held->holder.describe());
  SPARK_CHECK(check_no_open_window(node));
  const auto opened = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(held->process), 0));
  if (opened < 0 && errno != ESRCH && errno != EINVAL)
    return failure(system_error("find the agent that holds the lock", errno));
  const FileDescriptor process(opened);
  // From here on, another process cannot take the number unnoticed.
  if (opened < 0 || held->process <= 1 || start_of_process(held->process) != held->started ||
      !is_agent(held->process)) {
    return failure(ErrorCode::kRefused, "the process that holds the lock is not the agent that the lock file names",
                   "find it on the node: fuser -v /run/sparkplan/lock");
  }
  return end(process.get());
}

}  // namespace sparkplan
