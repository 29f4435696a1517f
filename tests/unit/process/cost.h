#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <functional>

#include "tests/support/catch.h"
#include "tests/support/sanitizer.h"

namespace sparkplan::test {

/// The cost of some work.
struct Cost {
  int exit_status = -1;
  long megabytes = 0;  ///< Growth above the initial peak. 0 with a sanitizer, which uses several times as much.
  double seconds = 0;  ///< Of the processor, so that other programs do not count.
};

inline long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Runs in a child process, so that the peak of an earlier measurement does not hide this one. Exit status 0: `work`
/// returned true.
inline Cost cost_of(const std::function<bool()>& work) {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Memory freed by earlier tests would otherwise be reused and not be counted.
    ::malloc_trim(0);
    if (FILE* reset = std::fopen("/proc/self/clear_refs", "we")) {
      std::fputs("5", reset);
      std::fclose(reset);
    }
    const auto before = peak_kilobytes();
    const std::clock_t begun = std::clock();
    const bool done = work();
    Cost cost;
    cost.megabytes = (peak_kilobytes() - before) / 1024;
    cost.seconds = static_cast<double>(std::clock() - begun) / static_cast<double>(CLOCKS_PER_SEC);
    (void)!::write(ends[1], &cost, sizeof cost);
    ::_exit(done ? 0 : 1);
  }
  ::close(ends[1]);
  Cost cost;
  const auto size = ::read(ends[0], &cost, sizeof cost);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (kHasSanitizer) {
    WARN("SKIPPED: a sanitizer uses memory of its own, so memory is not measured");
    cost.megabytes = 0;
  }
  cost.exit_status = size == sizeof cost && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return cost;
}

}  // namespace sparkplan::test
