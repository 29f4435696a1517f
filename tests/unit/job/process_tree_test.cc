// Which processes belong to a job.
#include "engine/job/process_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using job::ProcessEntry;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

/// How a process of another user runs.
enum class RunsAs : std::uint8_t {
  kItsUser,
  kSetuidRoot,  ///< With root as its effective user alone.
  kSudo,        ///< With root as each of its users, from a login of its user.
};

/// A process that has the job's mark, and that the user has started; 0: ours.
class MarkedProcess {
 public:
  explicit MarkedProcess(const char* mark, uid_t user = 0, RunsAs runs_as = RunsAs::kItsUser) : pid_(::fork()) {
    if (pid_ == 0) {
      const uid_t effective = runs_as == RunsAs::kItsUser ? user : 0;
      if (runs_as == RunsAs::kSudo) {
        std::ofstream("/proc/self/loginuid") << user << std::flush;
      } else if (user != 0 && ::setresuid(user, effective, effective) != 0) {
        ::_exit(126);
      }
      ::execl("/usr/bin/env", "env", "-i", mark, "/bin/sleep", "1000", nullptr);
      ::_exit(127);
    }
    REQUIRE(pid_ > 0);
  }
  MarkedProcess(const MarkedProcess&) = delete;
  MarkedProcess& operator=(const MarkedProcess&) = delete;
  ~MarkedProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  /// True if it has executed its last program, which has the mark.
  bool comes_up() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const std::string folder = "/proc/" + std::to_string(pid_);
    while (std::chrono::steady_clock::now() < end) {
      std::string name;
      std::getline(std::ifstream(folder + "/comm"), name);
      std::string environment;
      if (name == "sleep" && std::getline(std::ifstream(folder + "/environ"), environment)) return true;
    }
    return false;
  }
  std::string login() const {
    std::string user;
    std::getline(std::ifstream("/proc/" + std::to_string(pid_) + "/loginuid"), user);
    return user;
  }
  ProcessEntry entry() const {
    for (const auto& one : job::all_processes()) {
      if (one.pid == pid_) return one;
    }
    FAIL("the process is not listed");
    return {};
  }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("descendants are found in any order, and ended ones are left out") {
  const std::vector<ProcessEntry> all{{5, 4, 'S'}, {4, 3, 'S'}, {3, 1, 'S'}, {6, 4, 'Z'}, {7, 1, 'S'}, {8, 6, 'R'}};
  CHECK(job::descendants_of(3, all) == std::vector<pid_t>{5, 4, 8});
  CHECK(job::descendants_of(7, all).empty());
  CHECK(job::descendants_of(99, all).empty());
}

TEST_CASE("a circle of parents, which /proc can show while it is read, ends the search") {
  const std::vector<ProcessEntry> all{{2, 3, 'S'}, {3, 2, 'S'}};
  CHECK(job::descendants_of(2, all) == std::vector<pid_t>{3});
}

TEST_CASE("this process and its parent are among all processes") {
  const auto all = job::all_processes();
  const auto own = std::find_if(all.begin(), all.end(), [](const ProcessEntry& one) { return one.pid == ::getpid(); });
  REQUIRE(own != all.end());
  CHECK(own->parent == ::getppid());
}

TEST_CASE("a process with the job's mark is found, and one with a longer id is not") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/usr/bin/env", "env", "-i", "SPARKPLAN_JOB=mark-12", "/bin/sleep", "1000", nullptr);
    ::_exit(127);
  }
  REQUIRE(child > 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool found = false;
  while (!found && std::chrono::steady_clock::now() < end) {
    found = contains(job::marked_with("mark-12", job::all_processes()), child);
  }
  CHECK(found);
  CHECK_FALSE(contains(job::marked_with("mark-1", job::all_processes()), child));
  CHECK_FALSE(contains(job::marked_with("mark-123", job::all_processes()), child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("root takes the job's mark from its own processes, and from no other user's") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root sees the environments of other users");
    return;
  }
  const MarkedProcess own("SPARKPLAN_JOB=mark-users");
  const MarkedProcess other("SPARKPLAN_JOB=mark-users", 12'345);
  REQUIRE(own.comes_up());
  REQUIRE(other.comes_up());
  const auto found = job::marked_with("mark-users", job::all_processes());
  CHECK(contains(found, own.pid()));
  CHECK_FALSE(contains(found, other.pid()));
}

TEST_CASE("the search for a mark reads a bounded number of bytes") {
  const MarkedProcess own("SPARKPLAN_JOB=mark-bound");
  REQUIRE(own.comes_up());
  CHECK(contains(job::marked_with("mark-bound", {own.entry()}), own.pid()));
  CHECK(job::marked_with("mark-bound", {own.entry()}, 0).empty());
}

TEST_CASE("another user's setuid programs use up no bytes of root's search for a mark") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root searches beside the programs of other users");
    return;
  }
  const MarkedProcess other("SPARKPLAN_JOB=mark-setuid", 12'345, RunsAs::kSetuidRoot);
  const MarkedProcess own("SPARKPLAN_JOB=mark-setuid");
  REQUIRE(other.comes_up());
  REQUIRE(own.comes_up());
  // One environment is read.
  const auto found = job::marked_with("mark-setuid", {other.entry(), own.entry()}, 1);
  CHECK(found == std::vector<pid_t>{own.pid()});
}

TEST_CASE("sudo that waits for another user's password uses up no bytes of root's search for a mark") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root searches beside the programs of other users");
    return;
  }
  const MarkedProcess other("SPARKPLAN_JOB=mark-sudo", 12'345, RunsAs::kSudo);
  const MarkedProcess own("SPARKPLAN_JOB=mark-sudo");
  REQUIRE(other.comes_up());
  REQUIRE(own.comes_up());
  if (other.login() != "12345") {
    WARN("SKIPPED: this kernel lets no process set the user of its login");
    return;
  }
  const auto found = job::marked_with("mark-sudo", {other.entry(), own.entry()}, 1);
  CHECK(found == std::vector<pid_t>{own.pid()});
}

TEST_CASE("a process that has the number of an ended one gets no signal") {
  const MarkedProcess own("SPARKPLAN_JOB=mark-number");
  REQUIRE(own.comes_up());
  ProcessEntry earlier = own.entry();
  REQUIRE(earlier.started > 0);
  --earlier.started;
  job::signal_process(earlier, SIGKILL);
  siginfo_t ending{};
  CHECK(::waitid(P_PID, static_cast<id_t>(own.pid()), &ending, WEXITED | WNOHANG | WNOWAIT) == 0);
  CHECK(ending.si_pid == 0);
  job::signal_process(own.entry(), SIGKILL);
  REQUIRE(::waitid(P_PID, static_cast<id_t>(own.pid()), &ending, WEXITED | WNOWAIT) == 0);
  CHECK(ending.si_status == SIGKILL);
}

}  // namespace sparkplan
