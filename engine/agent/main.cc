#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/agent/session/kernel_release.h"
#include "engine/agent/session/serve.h"
#include "engine/agent/trial/rollback_timer.h"
#include "engine/agent/trial/transaction_end.h"

namespace __gnu_cxx {

/// Replaces the library's handler, which prints the name of the exception. The code to demangle names would be a
/// sixtieth of the agent. sparkplan returns errors as values and needs none of it.
void __verbose_terminate_handler() { std::abort(); }

}  // namespace __gnu_cxx

namespace {

int usage() {
  std::fputs("usage: agent --stdio [--root DIRECTORY] | --rollback RUN | --recover RUN | --forget RUN\n", stderr);
  return 64;
}

int outcome(const sparkplan::Result<void>& result) {
  if (result) return 0;
  std::fprintf(stderr, "sparkplan agent: %s\n", result.error().describe().c_str());
  return 1;
}

using EndTrial = decltype(&sparkplan::roll_back_by_timer);

/// How a timer, a boot or a person at the console ends a change on trial. Null for other words.
EndTrial end_of_trial(const std::string& how) {
  if (how == "--rollback") return sparkplan::roll_back_by_timer;
  if (how == "--recover") return sparkplan::recover_at_boot;
  return how == "--forget" ? sparkplan::forget_failed_rollback : nullptr;
}

sparkplan::Result<void> end_trial(EndTrial end, const std::string& run) {
  SPARK_TRY(auto node, sparkplan::LocalNode::open("/"));
  sparkplan::SystemdRollbackTimer timer;
  return end(run, sparkplan::builtin_registry(), node, timer);
}

}  // namespace

int main(int argc, char** argv) {
#ifndef __SANITIZE_ADDRESS__  // Its search for leaks must look into this process.
  // A request may contain secrets, and is in memory before it is decoded. The limit of core dumps stays as it is: the
  // logins that the agent measures would inherit it, and a program that collects cores ignores it. Source: core(5).
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string root = "/";
  const EndTrial end = arguments.size() == 2 ? end_of_trial(arguments[0]) : nullptr;
  if (end == nullptr && (arguments.empty() || arguments[0] != "--stdio")) return usage();
  if (end != nullptr) {
    root = "/";
  } else if (arguments.size() == 3 && arguments[1] == "--root") {
    root = arguments[2];
  } else if (arguments.size() != 1) {
    return usage();
  }
  // A controller that disconnects during an answer must not kill the agent during a step.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  // A program inherits an ignored SIGCHLD from its parent. The system then keeps no exit status of its children.
  ::signal(SIGCHLD, SIG_DFL);
  ::umask(022);
  // Programs get a fixed environment, independent of sudo and sshd.
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  ::setenv("LC_ALL", "C.UTF-8", 1);
  if (end != nullptr) return outcome(end_trial(end, arguments[1]));
  utsname system{};
  if (::uname(&system) == 0) {
    if (const auto known = sparkplan::check_kernel(system.release); !known) return outcome(known);
  }
  return outcome(sparkplan::serve(sparkplan::builtin_registry(), root, STDIN_FILENO, STDOUT_FILENO));
}
