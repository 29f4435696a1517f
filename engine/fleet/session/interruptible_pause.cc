#include "engine/fleet/session/interruptible_pause.h"

#include <condition_variable>
#include <mutex>

namespace sparkplan {

bool pause_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, duration, [&] { return stop.stop_requested(); });
  return !stop.stop_requested();
}

}  // namespace sparkplan
