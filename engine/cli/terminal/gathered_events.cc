#include "engine/cli/terminal/gathered_events.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::milliseconds kLongestWait{10'000};
constexpr std::string_view kApplying = "applying";
constexpr std::ptrdiff_t kMostLinesOfSteps = 2;

bool is_step(std::string_view doing) { return doing.starts_with(kApplying); }

}  // namespace

void GatheredEvents::add(const std::string& node, const std::string& doing, Clock::time_point now) {
  if (events_.empty()) first_event_ = now;
  for (Event& event : events_) std::erase(event.nodes, node);
  std::erase_if(events_, [](const Event& event) { return event.nodes.empty(); });
  const auto same = std::find_if(events_.begin(), events_.end(), [&](const Event& one) { return one.doing == doing; });
  if (same == events_.end()) {
    events_.push_back({doing, {node}});
  } else {
    same->nodes.push_back(node);
  }
}

/// Nodes that apply the same plan are rarely at the same step.
void GatheredEvents::share_line_of_steps() {
  const auto of_step = [](const Event& event) { return is_step(event.doing); };
  if (std::count_if(events_.begin(), events_.end(), of_step) <= kMostLinesOfSteps) return;
  const auto first = std::find_if(events_.begin(), events_.end(), of_step);
  first->doing = kApplying;
  for (auto other = std::next(first); other != events_.end(); ++other) {
    if (!of_step(*other)) continue;
    first->nodes.insert(first->nodes.end(), other->nodes.begin(), other->nodes.end());
    other->nodes.clear();
  }
  std::erase_if(events_, [](const Event& event) { return event.nodes.empty(); });
}

std::vector<std::string> GatheredEvents::take() {
  if (events_.empty()) return {};
  share_line_of_steps();
  std::vector<std::string> lines;
  for (Event& event : events_) {
    // The threads of the nodes report in any order.
    std::sort(event.nodes.begin(), event.nodes.end());
    lines.push_back(fold_names(event.nodes) + ": " + event.doing);
  }
  events_.clear();
  wait_ = std::min(2 * wait_, kLongestWait);
  return lines;
}

}  // namespace sparkplan
