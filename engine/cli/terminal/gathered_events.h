#pragma once

#include <string>
#include <vector>

namespace sparkplan {

/// Events of the nodes that are printed together: one line for all nodes that do the same. Of equal kinds of events
/// ("applying ..."), a node keeps only the newest.
class GatheredEvents {
 public:
  /// `doing` is safe to print.
  void add(const std::string& node, const std::string& doing);
  bool empty() const { return events_.empty(); }
  /// "spark-[01-08]: connecting", in the order of the first nodes. Forgets the events.
  std::vector<std::string> take();

 private:
  struct Event {
    std::string doing;
    std::vector<std::string> nodes;
  };
  std::vector<Event> events_;
};

}  // namespace sparkplan
