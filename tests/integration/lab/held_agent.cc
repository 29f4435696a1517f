#include "tests/integration/lab/held_agent.h"

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The process id of the host's agent on this machine. The machine-id separates it from agents of other labs.
pid_t agent_on(const Host& host) {
  const auto machine = host.text("/etc/machine-id");
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{}) continue;
    std::error_code gone;
    if (fs::read_symlink(entry.path() / "exe", gone).filename() != "agent" || gone) continue;
    if (content_of(entry.path() / "root/etc/machine-id") == machine) return pid;
  }
  return -1;
}

[[noreturn]] void give_up(const std::string& what) { throw std::runtime_error("the agent on the node " + what); }

/// Waits until the process stops under ptrace(2). The process stops twice for each of hundreds of system calls, so this
/// function polls at short intervals.
int wait_for_stop(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG | __WALL) != pid) {
    if (std::chrono::steady_clock::now() >= end) give_up("did not stop");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (!WIFSTOPPED(status)) give_up("has ended");
  return status;
}

}  // namespace

HeldAgent::HeldAgent(const Host& host) {
  if (!eventually([&] { return (pid_ = agent_on(host)) > 0; })) give_up("is not there");
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) give_up("is gone");
  input_ = static_cast<int>(::syscall(SYS_pidfd_getfd, handle, STDIN_FILENO, 0));
  ::close(handle);
  if (::ptrace(PTRACE_SEIZE, pid_, 0, PTRACE_O_TRACESYSGOOD) != 0) give_up("cannot be traced");
  held_ = true;
  ::ptrace(PTRACE_INTERRUPT, pid_, 0, 0);
  wait_for_stop(pid_);
}

HeldAgent::~HeldAgent() {
  let_go();
  if (input_ >= 0) ::close(input_);
}

void HeldAgent::run_to_system_call() const {
  while (true) {
    ::ptrace(PTRACE_SYSCALL, pid_, 0, 0);
    if (WSTOPSIG(wait_for_stop(pid_)) == (SIGTRAP | 0x80)) return;
  }
}

void HeldAgent::run_to_journal_sync(int count) const {
  while (count > 0) {
    run_to_system_call();
    __ptrace_syscall_info call{};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof call, &call);
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_fdatasync) --count;
  }
}

bool HeldAgent::has_input() const {
  pollfd readable{input_, POLLIN, 0};
  return ::poll(&readable, 1, 0) == 1;
}

void HeldAgent::kill() {
  ::kill(pid_, SIGKILL);
  int status = 0;
  (void)eventually([&] { return ::waitpid(pid_, &status, WNOHANG | __WALL) == pid_ && WIFSIGNALED(status); });
  held_ = false;
  let_go();
}

void HeldAgent::let_go() {
  if (held_) ::ptrace(PTRACE_DETACH, pid_, 0, 0);
  held_ = false;
  // The agent sees no end of file on its input while this copy is open.
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

}  // namespace sparkplan::test
