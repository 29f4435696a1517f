#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "engine/core/threads.h"

namespace sparkplan {

/// The interval of messages to a node that waits for slower ones, so that its agent keeps the connection.
inline constexpr std::chrono::seconds kHeartbeat{10};

/// The turns of items: at most so many have one at a time. Of the items that wait, the first one is next.
class Turns {
 public:
  Turns(std::size_t at_once, std::size_t items) : at_once_(std::max<std::size_t>(at_once, 1)), unfinished_(items) {}

  /// Items below `count` wait from now on, so that the first to arrive does not come first.
  void expect(std::size_t count) {
    const std::lock_guard lock(mutex_);
    for (std::size_t item = 0; item < count; ++item) waiting_.insert(waiting_.end(), item);
  }
  /// Waits for the item's turn, and calls `meanwhile` after each `heartbeat`. Meanwhile others go first.
  template <class Meanwhile>
  void begin(std::size_t item, std::chrono::milliseconds heartbeat, Meanwhile meanwhile) {
    std::unique_lock lock(mutex_);
    waiting_.insert(item);
    while (!changed_.wait_for(lock, heartbeat, [&] { return taken_ < at_once_ && *waiting_.begin() == item; })) {
      waiting_.erase(item);
      changed_.notify_all();
      lock.unlock();
      meanwhile();
      lock.lock();
      waiting_.insert(item);
    }
    waiting_.erase(item);
    ++taken_;
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    --taken_;
    --unfinished_;
    changed_.notify_all();
  }
  /// Waits until all items are done, and calls `meanwhile` after each `heartbeat`.
  template <class Meanwhile>
  void await_all(std::chrono::milliseconds heartbeat, Meanwhile meanwhile) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, heartbeat, [&] { return unfinished_ == 0; })) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::size_t at_once_;
  std::size_t taken_ = 0;
  std::size_t unfinished_;
  std::set<std::size_t> waiting_;
};

/// The first exception that a step of any thread throws. All other steps go on.
class FirstException {
 public:
  template <class Step>
  void guard(const Step& step) {
    try {
      step();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
    }
  }
  /// Call it when all threads have ended.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

/// Calls `work(item)` for every item, for at most `workers` at a time, and returns when all are done. Each item belongs
/// to one thread, its own, until the return. The thread calls `keep_alive(item)` after each `heartbeat` in which the
/// item waits for its turn or for the end of the others: the time of a slow item is no silence for another one.
/// Neither function may throw: work on a node's data is inside last_line(). If one throws, all other items are still
/// worked on, and the first exception is rethrown. If the system allows fewer threads, these take all items in turn.
template <class Items, class Work, class KeepAlive>
void fan_out(Items& items, std::size_t workers, Work work, KeepAlive keep_alive,
             std::chrono::milliseconds heartbeat = kHeartbeat) {
  Turns turns(workers, items.size());
  FirstException escaped;
  std::mutex starting;
  std::atomic<std::size_t> next{0};  // The first item without a thread.
  const auto loop = [&](std::size_t first) {
    { const std::lock_guard all_have_started(starting); }
    std::vector<std::size_t> mine;
    const auto keep = [&] {
      for (const std::size_t item : mine) escaped.guard([&] { keep_alive(items[item]); });
    };
    for (std::size_t item = first; item < items.size(); item = next++) {
      mine.push_back(item);
      turns.begin(item, heartbeat, keep);
      escaped.guard([&] { work(items[item]); });
      turns.end();
    }
    turns.await_all(heartbeat, keep);
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(items.size());
    {
      // Only a thread that started gets a first item. Otherwise the other threads would wait for that item.
      const std::lock_guard lock(starting);
      while (threads.size() < items.size() && add_thread(threads, [&loop, first = threads.size()] { loop(first); })) {
      }
      next = std::max<std::size_t>(threads.size(), 1);
      turns.expect(threads.size());
    }
    if (threads.empty() && !items.empty()) loop(0);
  }
  escaped.rethrow();
}

/// As above, for items that need no sign of life. A thread takes one item after the other.
template <class Items, class Work>
void fan_out(Items& items, std::size_t workers, Work work) {
  const auto count = std::min(std::max<std::size_t>(workers, 1), items.size());
  FirstException escaped;
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t item = next++; item < items.size(); item = next++) escaped.guard([&] { work(items[item]); });
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    while (threads.size() < count && add_thread(threads, loop)) {
    }
    if (threads.empty()) loop();
  }
  escaped.rethrow();
}

}  // namespace sparkplan
