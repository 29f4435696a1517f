#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "engine/cli/console.h"

namespace sparkplan {

/// What each node is at, on standard error: one live line per node on a terminal, else a line per
/// event and a sign of life every 10 s. Cleared away before the result is printed.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(const Console& console);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// From any thread.
  void tell(const std::string& node, std::string_view doing);
  /// Takes the live lines off the screen; the next tell() begins anew.
  void clear();

 private:
  void redraw();
  void give_signs_of_life(const std::stop_token& stop);

  const Console& console_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, std::string> doing_;
  std::size_t lines_on_screen_ = 0;
  std::chrono::steady_clock::time_point last_event_ = std::chrono::steady_clock::now();
  std::jthread signs_of_life_;
};

}  // namespace sparkplan
