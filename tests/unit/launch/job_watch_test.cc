// Which nodes of a job count as quiet.
#include "engine/launch/job_watch.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using NodePlaces = std::set<std::size_t>;

/// Three nodes, each with a rank. All have started, and answer each look.
class Watched {
 public:
  Watched()
      : watch_({true, true, true}, milliseconds(100), [this](const JobView& view, const std::stop_token& /*stop*/) {
          const std::lock_guard lock(mutex_);
          views_.push_back(view);
        }) {
    for (int node = 0; node < 3; ++node) watch_.note_start();
  }

  /// The first node prints all the time, until a view of the quiet nodes `wanted` comes.
  bool sees(const NodePlaces& wanted, std::optional<bool> repeats = {}) {
    return test::eventually([&] {
      watch_.note_output(0);
      answer();
      return has_view(wanted, repeats);
    });
  }
  /// The first node prints only when it is asked what its ranks do.
  bool sees_while_it_prints_at_looks(const NodePlaces& wanted) {
    return test::eventually([&] {
      if (answer()) watch_.note_output(0);
      return has_view(wanted, {});
    });
  }
  void forget_views() {
    const std::lock_guard lock(mutex_);
    views_.clear();
  }
  JobWatch& watch() { return watch_; }

 private:
  /// True if a new look has begun.
  bool answer() {
    if (watch_.looks() == looks_) return false;
    looks_ = watch_.looks();
    for (std::size_t node = 0; node < 3; ++node) watch_.put(node, JobSeen());
    return true;
  }
  bool has_view(const NodePlaces& wanted, std::optional<bool> repeats) {
    const std::lock_guard lock(mutex_);
    return std::any_of(views_.begin(), views_.end(), [&](const JobView& view) {
      return view.quiet_nodes == wanted && (!repeats || view.repeats == *repeats);
    });
  }

  std::mutex mutex_;
  std::vector<JobView> views_;
  int looks_ = 0;
  JobWatch watch_;
};

}  // namespace

TEST_CASE("watch: a node that prints all the time does not prevent a report on the quiet nodes") {
  Watched job;
  CHECK(job.sees({1, 2}));
}

TEST_CASE("watch: a node that prints before each look at its ranks does not prevent a report on the quiet nodes") {
  Watched job;
  CHECK(job.sees_while_it_prints_at_looks({1, 2}));
}

TEST_CASE("watch: a node whose ranks have ended is not quiet") {
  Watched job;
  job.watch().note_end(1);
  CHECK(job.sees({2}));
}

TEST_CASE("watch: a further report on nodes that have not printed since is marked as a repetition") {
  Watched job;
  REQUIRE(job.sees({1, 2}, true));
  job.forget_views();
  job.watch().note_output(1);
  CHECK(job.sees({1, 2}, false));
}

}  // namespace sparkplan
