#pragma once

#include <malloc.h>

#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// All threads take memory from one heap. By default the C library has a heap for each of them: memory that a thread
/// has freed then stays in its heap, while the next thread enlarges another one. Each phase of a run has threads of its
/// own, so one node's data would cost three times as much beside seven other nodes. Call it before the first thread.
/// Source: M_ARENA_MAX of mallopt(3).
inline void use_one_heap() { ::mallopt(M_ARENA_MAX, 1); }

/// Starts `work` in a thread. Errors: those of pthread_create(3), such as a system that allows no more threads, and
/// kFailed without memory.
template <class Work>
Result<std::jthread> start_thread(Work work) {
  try {
    return std::jthread(std::move(work));
  } catch (const std::system_error& refused) {
    return failure(system_error("start a thread", refused.code().value()));
  } catch (const std::bad_alloc&) {
    return failure(ErrorCode::kFailed, "there is no memory for a thread");
  }
}

/// start_thread(), into the list.
template <class Work>
Result<void> add_thread(std::vector<std::jthread>& threads, Work work) {
  SPARK_TRY(auto started, start_thread(std::move(work)));
  threads.push_back(std::move(started));
  return {};
}

/// Runs `work()` in one more thread, or here if no thread can start.
template <class Work>
void add_thread_or_run(std::vector<std::jthread>& threads, const Work& work) {
  if (!add_thread(threads, work)) work();
}

}  // namespace sparkplan
