#include "engine/cli/terminal/gathered_events.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string_view kind_of(std::string_view doing) { return doing.substr(0, doing.find(' ')); }

}  // namespace

void GatheredEvents::add(const std::string& node, const std::string& doing) {
  for (Event& event : events_) {
    if (kind_of(event.doing) == kind_of(doing)) std::erase(event.nodes, node);
  }
  std::erase_if(events_, [](const Event& event) { return event.nodes.empty(); });
  const auto same = std::find_if(events_.begin(), events_.end(), [&](const Event& one) { return one.doing == doing; });
  if (same == events_.end()) {
    events_.push_back({doing, {node}});
  } else {
    same->nodes.push_back(node);
  }
}

std::vector<std::string> GatheredEvents::take() {
  std::vector<std::string> lines;
  for (Event& event : events_) {
    // The threads of the nodes report in any order.
    std::sort(event.nodes.begin(), event.nodes.end());
    lines.push_back(fold_names(event.nodes) + ": " + event.doing);
  }
  events_.clear();
  return lines;
}

}  // namespace sparkplan
