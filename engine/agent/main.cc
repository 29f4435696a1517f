#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/agent/serve.h"

namespace {

int usage() {
  std::fputs("usage: agent --stdio [--root DIRECTORY]\n", stderr);
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string root = "/";
  if (arguments.empty() || arguments[0] != "--stdio") return usage();
  if (arguments.size() == 3 && arguments[1] == "--root") {
    root = arguments[2];
  } else if (arguments.size() != 1) {
    return usage();
  }
  // A controller that goes away in the middle of an answer must not kill us in the middle of a step.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::umask(022);
  // Programs are called with a fixed environment, whatever sudo or sshd have passed on.
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  ::setenv("LC_ALL", "C.UTF-8", 1);
  const auto served = sparkplan::serve(sparkplan::builtin_registry(), root, STDIN_FILENO, STDOUT_FILENO);
  if (served) return 0;
  std::fprintf(stderr, "sparkplan agent: %s\n", served.error().describe().c_str());
  return 1;
}
