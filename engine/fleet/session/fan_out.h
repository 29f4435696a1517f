#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/core/threads.h"

namespace sparkplan {

/// The interval of messages to a node that waits for slower ones, so that its agent keeps the connection.
inline constexpr std::chrono::seconds kHeartbeat{10};

/// Calls `work(item)` for every item on at most `workers` threads and returns when all are done. Each item belongs to
/// one thread until the return. With as many workers as items, each thread has one item. A thread without work calls
/// `keep_alive(item)` for its own items every `heartbeat`. Neither function may throw: work on a node's data is inside
/// last_line(). If one throws, all other items are still worked on, and the first exception is rethrown. If the system
/// allows fewer threads, these take all items in turn.
template <class Items, class Work, class KeepAlive>
void fan_out(Items& items, std::size_t workers, Work work, KeepAlive keep_alive,
             std::chrono::milliseconds heartbeat = kHeartbeat) {
  const auto count = std::min(std::max<std::size_t>(workers, 1), items.size());
  std::atomic<std::size_t> next{0};
  std::size_t unfinished = items.size();
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr escaped;
  const auto note_escaped = [&] {
    const std::lock_guard lock(mutex);
    if (!escaped) escaped = std::current_exception();
  };
  const auto loop = [&](std::size_t first) {
    { const std::lock_guard all_have_started(mutex); }
    std::vector<typename Items::value_type*> mine;
    for (std::size_t i = first; i < items.size(); i = next++) {
      try {
        work(items[i]);
      } catch (...) {
        note_escaped();
      }
      mine.push_back(&items[i]);
      const std::lock_guard lock(mutex);
      if (--unfinished == 0) finished.notify_all();
    }
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, heartbeat, [&] { return unfinished == 0; })) {
      lock.unlock();
      try {
        for (auto* item : mine) keep_alive(*item);
      } catch (...) {
        note_escaped();
      }
      lock.lock();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    {
      // Only a thread that started gets a first item. Otherwise the other threads would wait for that item.
      const std::lock_guard starting(mutex);
      while (threads.size() < count && add_thread(threads, [&loop, first = threads.size()] { loop(first); })) {
      }
      next = std::max<std::size_t>(threads.size(), 1);
    }
    if (threads.empty() && count > 0) loop(0);
  }
  if (escaped) std::rethrow_exception(escaped);
}

}  // namespace sparkplan
