#include "engine/cli/terminal/progress_display.h"

#include <algorithm>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

// Also the delay before the first frame: a run that ends earlier leaves the screen unchanged.
constexpr std::chrono::milliseconds kFrame{100};
constexpr std::chrono::seconds kClockTick{1};
constexpr std::chrono::seconds kSignOfLife{10};

}  // namespace

ProgressDisplay::ProgressDisplay(const Console& console, const Cluster& cluster) : console_(console) {
  for (const auto& node : cluster.nodes) nodes_.push_back({node.name.str(), "", Activity::kWorking, {}});
  if (!console_.quiet()) keeper_ = std::jthread([this](const std::stop_token& stop) { keep_up(stop); });
}

ProgressDisplay::~ProgressDisplay() {
  if (keeper_.joinable()) {
    keeper_.request_stop();
    keeper_.join();
  }
  clear();
}

void ProgressDisplay::tell(const std::string& node, std::string_view doing, Activity activity) {
  console_.trace(node + ": " + std::string(doing));
  if (console_.quiet()) return;
  const auto shown = printable(doing);
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& known) { return known.name == node; });
  // A departing node appears only after the other nodes have reported the members of the cluster.
  if (found == nodes_.end()) found = nodes_.insert(nodes_.end(), {node, "", activity, {}});
  last_event_ = Clock::now();
  *found = {node, shown, activity, last_event_};
  changed_ = true;
  if (console_.live_progress() || console_.verbose()) return;
  // The result gives the reason of a failure, with a hint. Lines that stay do not repeat it.
  events_.add(node, activity == Activity::kFailed ? "failed, the result has the reason" : shown, last_event_);
}

std::function<void(const std::string&, std::string_view, Activity)> ProgressDisplay::listener() {
  return [this](const std::string& node, std::string_view doing, Activity activity) { tell(node, doing, activity); };
}

void ProgressDisplay::clear() {
  const std::lock_guard lock(mutex_);
  print_events();
  for (auto& node : nodes_) node.doing.clear();
  changed_ = false;
  if (console_.live_progress()) console_.screen().draw({});
}

void ProgressDisplay::keep_up(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait_for(lock, stop, kFrame, [&] { return stop.stop_requested(); });
    if (stop.stop_requested()) return;
    if (console_.live_progress()) {
      redraw(Clock::now());
    } else {
      const auto now = Clock::now();
      if (events_.due(now)) print_events();
      give_sign_of_life(now);
    }
  }
}

void ProgressDisplay::redraw(Clock::time_point now) {
  const auto nodes = told(now);
  // Read each time: cheaper than a signal for every change of size.
  const auto size = Screen::size();
  if (nodes.empty() || (!changed_ && size == drawn_for_ && now - drawn_ < kClockTick)) return;
  console_.screen().draw(progress_lines(nodes, size, console_.color_progress()));
  changed_ = false;
  drawn_for_ = size;
  drawn_ = now;
}

void ProgressDisplay::give_sign_of_life(Clock::time_point now) {
  if (now - last_event_ < kSignOfLife) return;
  last_event_ = now;
  if (const auto nodes = told(now); !nodes.empty()) console_.screen().print(sign_of_life(nodes) + "\n");
}

void ProgressDisplay::print_events() {
  std::string text;
  const auto width = columns_of(console_.question_style());
  for (const auto& line : events_.take()) {
    for (const auto& piece : broken(line, width)) text += piece + "\n";
  }
  if (!text.empty()) console_.screen().print(text);
}

std::vector<NodeProgress> ProgressDisplay::told(Clock::time_point now) const {
  std::vector<NodeProgress> nodes;
  for (const auto& node : nodes_) {
    if (node.doing.empty()) continue;
    nodes.push_back({node.name, node.doing, node.activity,
                     std::chrono::duration_cast<std::chrono::milliseconds>(now - node.since)});
  }
  return nodes;
}

}  // namespace sparkplan
