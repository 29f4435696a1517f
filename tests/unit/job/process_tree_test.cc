// Which processes belong to a job.
#include "engine/job/process_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using job::ProcessEntry;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

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

}  // namespace sparkplan
