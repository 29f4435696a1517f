#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sparkplan {

/// Events of the nodes that are printed together: one line for all nodes that do the same. A node keeps only its newest
/// event, so that a long run prints few lines. The first lines are due after half a second. Each next wait is twice as
/// long, up to ten seconds.
class GatheredEvents {
 public:
  using Clock = std::chrono::steady_clock;

  /// `doing` is safe to print.
  void add(const std::string& node, const std::string& doing, Clock::time_point now);
  /// True if there are events, and the oldest of them has waited long enough.
  bool due(Clock::time_point now) const { return !events_.empty() && now - first_event_ >= wait_; }
  /// "spark-[01-08]: connecting", in the order of the first nodes. Forgets the events.
  std::vector<std::string> take();

 private:
  struct Event {
    std::string doing;
    std::vector<std::string> nodes;
  };
  void share_line_of_steps();

  std::vector<Event> events_;
  Clock::time_point first_event_;
  std::chrono::milliseconds wait_{500};
};

}  // namespace sparkplan
