// The ends of programs that the system does not report as usual.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "engine/core/file_descriptor.h"
#include "engine/process/child_process.h"
#include "tests/support/catch.h"
#include "tests/support/sanitizer.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// Traces a process from another one, until its object ends or for 20 seconds. The system gives the end of a traced
/// process to its parent only afterwards, as it does with a process that waits in the kernel.
class Tracer {
 public:
  explicit Tracer(pid_t traced) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const FileDescriptor told(ends[0]);
    FileDescriptor tells(ends[1]);
    process_ = ::fork();
    if (process_ == 0) {
      ::alarm(20);
      const char traces = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
      if (::write(tells.get(), &traces, 1) < 0) ::_exit(1);
      while (true) ::pause();
    }
    tells.replace(-1);
    char answer = 'n';
    traces_ = ::read(told.get(), &answer, 1) == 1 && answer == 'y';
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  bool traces() const { return traces_; }

 private:
  pid_t process_ = -1;
  bool traces_ = false;
};

}  // namespace

TEST_CASE("a killed child that the kernel does not let end keeps no one waiting") {
  auto child = ChildProcess::start("/bin/sh", {"-c", "echo $$; exec sleep 1000"});
  REQUIRE(child);
  std::array<char, 32> text{};
  REQUIRE(::read(child->standard_output(), text.data(), text.size() - 1) > 0);
  const auto pid = static_cast<pid_t>(std::stol(text.data()));
  const Tracer tracer(pid);
  if (!tracer.traces()) {
    WARN("skipped: this user may not trace another process");
    return;
  }
  const auto begun = Clock::now();
  child->kill(std::chrono::milliseconds(100));
  CHECK(Clock::now() - begun < std::chrono::seconds(10));
  CHECK(child->wait(std::chrono::milliseconds(0)) == 128 + SIGKILL);
}

TEST_CASE("without the status of a program, its end is no success") {
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGCHLD, &ignored, &before) == 0);
  const auto output = run_and_capture(std::vector<std::string>{"false"});
  REQUIRE(::sigaction(SIGCHLD, &before, nullptr) == 0);
  REQUIRE(output);
  CHECK(output->exit_status == 255);
}

TEST_CASE("a program's end is noticed when no descriptor is left to watch it") {
  if (test::kHasSanitizer) {
    WARN("SKIPPED: a sanitizer needs descriptors of its own");
    return;
  }
  std::vector<FileDescriptor> held;  // From here on, free numbers follow each other.
  for (int i = 0; i < 64; ++i) held.emplace_back(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  constexpr rlim_t kEndsOfPipes = 6;
  const rlimit few{static_cast<rlim_t>(held.back().get()) + 1 + kEndsOfPipes, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto begun = Clock::now();
  const auto output = run_and_capture(std::vector<std::string>{"sh", "-c", "exit 3"});
  const auto lasted = Clock::now() - begun;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(output);
  CHECK(output->exit_status == 3);
  CHECK(lasted < std::chrono::seconds(10));
}

TEST_CASE("a script that writes without end ends with its reader, although this process ignores SIGPIPE") {
  void (*const before)(int) = ::signal(SIGPIPE, SIG_IGN);
  const auto output = run_and_capture(std::vector<std::string>{"sh", "-c", "(while :; do echo y; done) | head -n 1"},
                                      {std::chrono::seconds(10)});
  ::signal(SIGPIPE, before);
  REQUIRE(output);
  CHECK(output->standard_output == "y\n");
  CHECK(output->standard_error.empty());
}

}  // namespace sparkplan
