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

using Pipe = std::array<int, 2>;

/// The pipes of one rank; -1 for a missing pipe.
struct RankStreams {
  Pipe input{-1, -1};
  Pipe output{-1, -1};
  Pipe error{-1, -1};
  Pipe report{-1, -1};

  bool make(bool with_input) {
    const auto made = [](Pipe& ends) { return ::pipe2(ends.data(), O_CLOEXEC) == 0; };
    return made(output) && made(error) && made(report) && (!with_input || made(input));
  }
  void close_all() const {
    for (const auto& ends : {input, output, error, report}) {
      for (const int end : ends) close_end(end);
    }
  }
  /// The pipes of the child.
  void close_far_ends() const {
    for (const int end : {input[0], output[1], error[1], report[1]}) close_end(end);
  }

 private:
  static void close_end(int end) {
    if (end >= 0) ::close(end);
  }
};

/// The rest of the child. This program has one thread, so it may allocate after fork().
[[noreturn]] void become(const RankSpec& spec, const StartJob& job, const RankStreams& streams) {
  ::setsid();
  // If this program is killed, its guardian ends the rank's descendants too; this signal is only faster.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int report = streams.report[1];
  const int input = spec.input ? streams.input[0] : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(input, STDIN_FILENO) < 0 || ::dup2(streams.output[1], STDOUT_FILENO) < 0 ||
      ::dup2(streams.error[1], STDERR_FILENO) < 0) {
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

}  // namespace

RankProcess start_rank(const RankSpec& spec, const StartJob& job, std::optional<StartFault>& fault) {
  RankProcess process;
  process.rank = spec.rank;
  process.started = std::chrono::steady_clock::now();
  RankStreams streams;
  const pid_t pid = streams.make(spec.input) ? ::fork() : -1;
  if (pid == 0) become(spec, job, streams);
  if (pid < 0) {
    fault = StartFault{errno, "start a process"};
    streams.close_all();
    return process;
  }
  streams.close_far_ends();
  process.pid = pid;
  process.input = streams.input[1];
  process.output = streams.output[0];
  process.error = streams.error[0];
  process.report = streams.report[0];
  for (const int end : {process.input, process.output, process.error, process.report}) {
    if (end >= 0) ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
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
