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
      auto all = items(count);
      fan_out(
          all, workers, [](Item& item) { item.worked += item.number + 1; }, leave_alone);
      for (const auto& item : all) CHECK(item.worked == item.number + 1);
    }
  }
}

TEST_CASE("exactly as many items are processed in parallel as there are workers") {
  constexpr int kWorkers = 4;
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
  fan_out(all, kWorkers, work, leave_alone);
  CHECK_FALSE(too_slow);
  CHECK(most == kWorkers);
}

TEST_CASE("a single worker processes the items in their order") {
  auto all = items(20);
  std::vector<int> order;
  fan_out(
      all, 1, [&](Item& item) { order.push_back(item.number); }, leave_alone);
  for (int i = 0; i < 20; ++i) CHECK(order.at(static_cast<std::size_t>(i)) == i);
}

TEST_CASE("with as many workers as items, each thread has one item") {
  auto all = items(50);
  const auto work = [](Item& item) { item.worker = std::this_thread::get_id(); };
  fan_out(all, all.size(), work, leave_alone);
  std::set<std::thread::id> workers;
  for (const auto& item : all) workers.insert(item.worker);
  CHECK(workers.size() == all.size());
}

TEST_CASE("finished items get keep-alives from their own worker while slower items run") {
  auto all = items(5);
  std::atomic<bool> too_slow{false};
  const auto work = [&](Item& item) {
    item.worker = std::this_thread::get_id();
    if (item.number != 0) return;
    // The slow item waits until each other item has had several keep-alives from its worker.
    const auto all_heard = [&] {
      return std::all_of(all.begin() + 1, all.end(), [](const Item& other) { return other.kept_alive >= 3; });
    };
    if (!becomes_true(all_heard)) too_slow = true;
  };
  const auto keep_alive = [](Item& item) {
    if (std::this_thread::get_id() != item.worker) item.other_thread = true;
    ++item.kept_alive;
  };
  fan_out(all, 2, work, keep_alive, std::chrono::milliseconds(1));
  CHECK_FALSE(too_slow);
  CHECK(all[0].kept_alive == 0);
  for (const auto& item : all) CHECK_FALSE(item.other_thread);
}

TEST_CASE("without a wait no item gets a keep-alive") {
  auto all = items(3);
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
  }
}

TEST_CASE("every item is processed where the system allows no more threads") {
  auto all = items(10);
  {
    const test::NoThreads none;
    fan_out(
        all, 4, [](Item& item) { ++item.worked; }, leave_alone);
  }
  for (const auto& item : all) CHECK(item.worked == 1);
}

}  // namespace sparkplan
