#include "engine/job/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>

#include "engine/job/containers.h"
#include "engine/job/process_tree.h"

namespace sparkplan::job {
namespace {

constexpr std::chrono::milliseconds kSweep{3000};
constexpr std::chrono::milliseconds kContainers{10'000};
constexpr std::size_t kLongestName = 64;

int name_pipe = -1;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): one per process.

[[noreturn]] void guard(pid_t child, int names) {
  // SIGTERM and SIGINT reach the whole process group; the child handles them.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  // Another name, so that `pkill sparkplan-job` does not hit both.
  ::prctl(PR_SET_NAME, "spark-guardian");
  // Without our copies, the connection ends with the child.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing, stream);
  int status = 0;
  // Only the child: its orphans stay to be found by the sweep.
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::array<char, 2 * kLongestName + 1> text{};
  if (::read(names, text.data(), text.size() - 1) < 0) text[0] = '\0';
  const std::string id(text.data());
  const std::string engine(id.empty() ? "" : text.data() + id.size() + 1);
  // First the containers: their engine removes them best while their own processes still live. A child that has ended
  // by itself has done that, and each look takes the engine some time.
  if (!engine.empty() && !WIFEXITED(status)) remove_found_containers(engine, id, kContainers);
  end_job(id, 0, kSweep);
  // A client that was still running may have asked for one more.
  if (!engine.empty()) (void)remove_containers(engine, id, kContainers);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

void start_guardian() {
  // A program inherits an ignored SIGCHLD from its parent. The system then keeps no exit status of its children.
  ::signal(SIGCHLD, SIG_DFL);
  std::array<int, 2> names{};
  if (::pipe2(names.data(), O_CLOEXEC | O_NONBLOCK) != 0) ::_exit(EXIT_FAILURE);
  // Orphans of the child become ours, and not those of init.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) ::_exit(EXIT_FAILURE);
  if (child > 0) {
    ::close(names[1]);
    guard(child, names[0]);
  }
  ::close(names[0]);
  name_pipe = names[1];
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // If the guardian is killed, the child ends its ranks itself.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);
}

void name_job_to_guardian(const std::string& id, const std::string& container_engine) {
  if (name_pipe < 0) return;
  const std::string text = id.substr(0, kLongestName) + '\0' + container_engine.substr(0, kLongestName - 1);
  // The pipe is empty and takes a short text at once.
  if (::write(name_pipe, text.data(), text.size()) < 0) ::_exit(EXIT_FAILURE);
}

}  // namespace sparkplan::job
