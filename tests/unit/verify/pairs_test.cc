#include "engine/verify/pairs.h"

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("every pair meets once in the minimal number of rounds, and no node is in two pairs of a round") {
  for (std::size_t count = 0; count <= 17; ++count) {
    INFO(count << " nodes");
    std::set<NodePair> met;
    const auto rounds = rounds_of_pairs(count);
    for (const auto& round : rounds) {
      std::set<std::size_t> busy;
      for (const auto& [one, other] : round) {
        CHECK(one < other);
        CHECK(other < count);
        CHECK(busy.insert(one).second);
        CHECK(busy.insert(other).second);
        CHECK(met.insert({one, other}).second);
      }
    }
    CHECK(met.size() == (count < 2 ? 0 : count * (count - 1) / 2));
    CHECK(rounds.size() == (count < 2 ? 0 : count - 1 + count % 2));
  }
}

TEST_CASE("a node is used by one thread at a time, and after a stop no pair begins") {
  std::mutex mutex;
  std::set<std::size_t> busy;
  std::atomic<int> calls{0};
  std::atomic<bool> overlapped{false};
  const auto enter = [&](std::size_t node) {
    const std::lock_guard lock(mutex);
    if (!busy.insert(node).second) overlapped = true;
  };
  const auto leave = [&](std::size_t node) {
    const std::lock_guard lock(mutex);
    busy.erase(node);
  };
  const auto work = [&](std::size_t one, std::size_t other) {
    enter(one);
    enter(other);
    ++calls;
    leave(one);
    leave(other);
  };
  std::vector<int> between;
  in_rounds(
      8, 16, work, [] { return false; }, [&] { between.push_back(calls); });
  CHECK(calls == 28);
  CHECK_FALSE(overlapped);
  // Not after the last round: nothing is left to decide about.
  CHECK(between == std::vector<int>{4, 8, 12, 16, 20, 24});
  calls = 0;
  in_rounds(8, 1, work, [&] { return calls >= 5; });
  CHECK(calls == 5);
}

}  // namespace sparkplan
