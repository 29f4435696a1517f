#include <algorithm>
#include <atomic>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/fleet/session/fan_out.h"
#include "tests/support/catch.h"
#include "tests/support/no_threads.h"

namespace sparkplan {
namespace {

struct Item {
  int number = 0;
  int worked = 0;
  std::atomic<int> kept_alive{0};
  std::thread::id worker;
  bool other_thread = false;

  explicit Item(int n) : number(n) {}
  Item(Item&& other) noexcept : number(other.number) {}
};

std::vector<Item> items(int count) {
  std::vector<Item> all;
  for (int i = 0; i < count; ++i) all.emplace_back(i);
  return all;
}

/// Waits until the condition is true; false after twenty seconds.
template <class Condition>
bool becomes_true(Condition condition) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
       std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return false;
}

void leave_alone(Item&) {}

}  // namespace

TEST_CASE("every item is processed exactly once, with any number of workers") {
  for (const int count : {0, 1, 2, 7, 100}) {
    for (const std::size_t workers : {0U, 1U, 2U, 3U, 16U, 200U}) {
      INFO(count << " items, " << workers << " workers");
      for (const bool kept_alive : {true, false}) {
        auto all = items(count);
        const auto work = [](Item& item) { item.worked += item.number + 1; };
        kept_alive ? fan_out(all, workers, work, leave_alone) : fan_out(all, workers, work);
        for (const auto& item : all) CHECK(item.worked == item.number + 1);
      }
    }
  }
}

TEST_CASE("exactly as many items are processed in parallel as there are workers") {
  constexpr int kWorkers = 4;
  const bool kept_alive = GENERATE(true, false);
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  std::atomic<bool> too_slow{false};
  auto all = items(12);
  const auto work = [&](Item&) {
    const int here = ++now;
    for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {
    }
    // The first items wait for each other: they can only meet if the workers run at the same time.
    if (!becomes_true([&] { return most >= kWorkers; })) too_slow = true;
    --now;
  };
  kept_alive ? fan_out(all, kWorkers, work, leave_alone) : fan_out(all, kWorkers, work);
  CHECK_FALSE(too_slow);
  CHECK(most == kWorkers);
}

TEST_CASE("a single worker processes the items in their order") {
  auto all = items(20);
  std::vector<int> order;
  const auto work = [&](Item& item) { order.push_back(item.number); };
  SECTION("that are kept alive") { fan_out(all, 1, work, leave_alone); }
  SECTION("that need no sign of life") { fan_out(all, 1, work); }
  for (int i = 0; i < 20; ++i) CHECK(order.at(static_cast<std::size_t>(i)) == i);
}

TEST_CASE("each item that is kept alive has its own thread, with any number of workers") {
  auto all = items(50);
  const auto work = [](Item& item) { item.worker = std::this_thread::get_id(); };
  fan_out(all, 2, work, leave_alone);
  std::set<std::thread::id> workers;
  for (const auto& item : all) workers.insert(item.worker);
  CHECK(workers.size() == all.size());
}

TEST_CASE("all items but the slow one get keep-alives from their own threads, with any number of workers") {
  const std::size_t workers = GENERATE(1U, 2U, 5U);
  const std::size_t slow = GENERATE(0U, 2U, 4U);
  INFO(workers << " workers, item " << slow << " is slow");
  auto all = items(5);
  std::atomic<bool> too_slow{false};
  const auto is_mine = [](Item& item) {
    const auto here = std::this_thread::get_id();
    if (item.worker == std::thread::id()) item.worker = here;
    return item.worker == here;
  };
  const auto work = [&](Item& item) {
    if (!is_mine(item)) item.other_thread = true;
    if (&item != &all[slow]) return;
    std::vector<int> before;
    for (const Item& other : all) before.push_back(other.kept_alive);
    const auto all_heard = [&] {
      return std::ranges::all_of(all, [&](const Item& other) {
        return &other == &item || other.kept_alive >= before[static_cast<std::size_t>(other.number)] + 3;
      });
    };
    if (!becomes_true(all_heard)) too_slow = true;
  };
  const auto keep_alive = [&](Item& item) {
    if (!is_mine(item)) item.other_thread = true;
    ++item.kept_alive;
  };
  fan_out(all, workers, work, keep_alive, std::chrono::milliseconds(1));
  CHECK_FALSE(too_slow);
  for (const auto& item : all) CHECK_FALSE(item.other_thread);
}

TEST_CASE("without a wait an item gets no keep-alive") {
  auto all = items(1);
  fan_out(
      all, 1, [](Item&) {}, [](Item& item) { ++item.kept_alive; }, std::chrono::milliseconds(0));
  for (const auto& item : all) CHECK(item.kept_alive == 0);
}

TEST_CASE("an exception of one item is rethrown after all other items are processed") {
  for (const std::size_t workers : {1U, 3U}) {
    auto all = items(10);
    const auto work = [](Item& item) {
      item.worked = 1;
      if (item.number == 2) throw std::runtime_error("escaped");
    };
    CHECK_THROWS_WITH(fan_out(all, workers, work, leave_alone), "escaped");
    for (const auto& item : all) CHECK(item.worked == 1);
    CHECK_THROWS_WITH(fan_out(all, workers, work), "escaped");
  }
}

TEST_CASE("every item is processed where the system allows no more threads") {
  auto all = items(10);
  {
    const test::NoThreads none;
    const auto work = [](Item& item) { ++item.worked; };
    fan_out(all, 4, work, leave_alone);
    fan_out(all, 4, work);
  }
  for (const auto& item : all) CHECK(item.worked == 2);
}

}  // namespace sparkplan
