#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/gathered_events.h"
#include "engine/cli/terminal/progress_lines.h"

namespace sparkplan {

/// Shows the current step of each node on standard error. On a terminal, each node has one live line. Elsewhere, the
/// newest events are printed from time to time, with all nodes that report the same (GatheredEvents). A sign of life
/// follows every 10 s. With -v, the trace has each event, so no other lines are printed. The live lines are cleared
/// before the result is printed.
class ProgressDisplay {
 public:
  /// Nodes are shown in the order of the cluster's file, each from its first event on.
  ProgressDisplay(const Console& console, const Cluster& cluster);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// From any thread.
  void tell(const std::string& node, std::string_view doing, Activity activity);
  /// tell() as a function for RunOptions::progress. Do not call it after the display is destroyed.
  std::function<void(const std::string&, std::string_view, Activity)> listener();
  /// Removes the live lines from the screen; the next tell() draws them again. Elsewhere, prints what was not printed
  /// yet.
  void clear();

 private:
  using Clock = GatheredEvents::Clock;
  struct Node {
    std::string name;
    std::string doing;  ///< Empty: no event yet.
    Activity activity = Activity::kWorking;
    Clock::time_point since;
  };

  void keep_up(const std::stop_token& stop);
  void redraw(Clock::time_point now);
  void give_sign_of_life(Clock::time_point now);
  void print_events();
  std::vector<NodeProgress> told(Clock::time_point now) const;

  const Console& console_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Node> nodes_;
  GatheredEvents events_;
  bool changed_ = false;
  ScreenSize drawn_for_;
  Clock::time_point drawn_;
  Clock::time_point last_event_ = Clock::now();
  std::jthread keeper_;
};

}  // namespace sparkplan
