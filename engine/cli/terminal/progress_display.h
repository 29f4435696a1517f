#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/progress_lines.h"

namespace sparkplan {

/// What each node is at, on standard error: one live line per node on a terminal, else a line per
/// event and a sign of life every 10 s. Cleared away before the result is printed.
class ProgressDisplay {
 public:
  /// Nodes are shown in the order of the cluster's file, each from the first word of it on.
  ProgressDisplay(const Console& console, const Cluster& cluster);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// From any thread.
  void tell(const std::string& node, std::string_view doing, Activity activity);
  /// tell(), for RunOptions::progress; not to be called after the display is gone.
  std::function<void(const std::string&, std::string_view, Activity)> listener();
  /// Takes the live lines off the screen; the next tell() begins anew.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  struct Node {
    std::string name;
    std::string doing;  ///< Empty: nothing was told yet.
    Activity activity = Activity::kWorking;
    Clock::time_point since;
  };

  void keep_up(const std::stop_token& stop);
  void redraw(Clock::time_point now);
  void give_sign_of_life(Clock::time_point now);
  std::vector<NodeProgress> told(Clock::time_point now) const;

  const Console& console_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Node> nodes_;
  bool changed_ = false;
  ScreenSize drawn_for_;
  Clock::time_point drawn_;
  Clock::time_point last_event_ = Clock::now();
  std::jthread keeper_;
};

}  // namespace sparkplan
