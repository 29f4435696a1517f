#include "engine/job/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "engine/job/secret_variable.h"

namespace sparkplan::job {
namespace {

/// The child's message through a pipe that a successful execve() closes.
struct ChildFault {
  int errno_value = 0;
  int step = 0;
};
constexpr std::array<const char*, 3> kSteps{"execute", "change to the directory", "connect the output"};

[[noreturn]] void give_up(int report, int step) {
  const ChildFault fault{errno, step};
  if (::write(report, &fault, sizeof fault) < 0) ::_exit(126);
  ::_exit(127);
}

/// Only this user's own; a user without that secret has no such variable, as in a login shell.
void set_secrets(const RankSpec& spec, const StartJob& job) {
  const char* user = ::getenv("USER");
  if (user == nullptr) return;
  for (const std::string& name : job.secrets) {
    const auto value = spec.environment.contains(name) ? std::nullopt : secret_variable(user, name);
    if (value) ::setenv(name.c_str(), value->c_str(), 1);
  }
}

void set_environment(const RankSpec& spec, const StartJob& job) {
  set_secrets(spec, job);
  for (const auto& [name, value] : spec.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv(std::string(kJobVariable).c_str(), job.id.c_str(), 1);
}

/// Without a bound, one core dump of a model fills the disk. podman passes the limits of its process on to the
/// container only if it gets no `--ulimit`; with one, it asks for more than an ordinary user may have. Source:
/// podman 4.3.
void forbid_core_dumps() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

/// The rest of the child. This program has one thread, so it may allocate after fork().
[[noreturn]] void become(const RankSpec& spec, const StartJob& job, int output, int error, int report) {
  ::setsid();
  // If this program is killed, its guardian ends the rank's descendants too; this signal is only faster.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(error, STDERR_FILENO) < 0) {
    give_up(report, 2);
  }
  const char* home = ::getenv("HOME");
  const std::string directory = job.directory.empty() ? (home != nullptr ? home : "/") : job.directory;
  // Without a home directory, sshd starts commands in "/".
  if (::chdir(directory.c_str()) != 0 && !job.directory.empty()) give_up(report, 1);
  set_environment(spec, job);
  if (job.containers.engine == "podman") forbid_core_dumps();
  std::vector<char*> argv;
  for (const auto& argument : spec.argv) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  give_up(report, 0);
}

using Pipe = std::array<int, 2>;

void close_both(const Pipe& ends) {
  for (const int end : ends) {
    if (end >= 0) ::close(end);
  }
}

}  // namespace

RankProcess start_rank(const RankSpec& spec, const StartJob& job, std::optional<StartFault>& fault) {
  RankProcess process;
  process.rank = spec.rank;
  process.started = std::chrono::steady_clock::now();
  Pipe output{-1, -1};
  Pipe error{-1, -1};
  Pipe report{-1, -1};
  const bool piped = ::pipe2(output.data(), O_CLOEXEC) == 0 && ::pipe2(error.data(), O_CLOEXEC) == 0 &&
                     ::pipe2(report.data(), O_CLOEXEC) == 0;
  const pid_t pid = piped ? ::fork() : -1;
  if (pid == 0) become(spec, job, output[1], error[1], report[1]);
  if (pid < 0) {
    fault = StartFault{errno, "start a process"};
    for (const auto& ends : {output, error, report}) close_both(ends);
    return process;
  }
  for (const int end : {output[1], error[1], report[1]}) ::close(end);
  process.pid = pid;
  process.output = output[0];
  process.error = error[0];
  process.report = report[0];
  for (const int end : {output[0], error[0], report[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  return process;
}

std::optional<StartFault> start_fault(RankProcess& process) {
  if (process.report < 0) return std::nullopt;
  ChildFault reported;
  const auto count = ::read(process.report, &reported, sizeof reported);
  ::close(std::exchange(process.report, -1));
  if (count != static_cast<ssize_t>(sizeof reported)) return std::nullopt;
  return StartFault{reported.errno_value, kSteps.at(static_cast<std::size_t>(reported.step))};
}

}  // namespace sparkplan::job
