#include "engine/cli/progress_display.h"

#include <cstdio>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kSignOfLife{10};
constexpr std::size_t kMaxLiveLines = 20;

}  // namespace

ProgressDisplay::ProgressDisplay(const Console& console)
    : console_(console), signs_of_life_([this](const std::stop_token& stop) { give_signs_of_life(stop); }) {}

ProgressDisplay::~ProgressDisplay() {
  signs_of_life_.request_stop();
  signs_of_life_.join();
  clear();
}

void ProgressDisplay::tell(const std::string& node, std::string_view doing) {
  console_.trace(node + ": " + std::string(doing));
  if (console_.quiet()) return;
  const std::lock_guard lock(mutex_);
  doing_[node] = printable(doing);
  last_event_ = std::chrono::steady_clock::now();
  if (console_.live_progress()) {
    redraw();
  } else {
    std::fputs((node + ": " + printable(doing) + "\n").c_str(), stderr);
  }
}

void ProgressDisplay::clear() {
  const std::lock_guard lock(mutex_);
  if (lines_on_screen_ > 0) std::fprintf(stderr, "\033[%zuA\033[J", lines_on_screen_);
  lines_on_screen_ = 0;
  doing_.clear();
}

void ProgressDisplay::redraw() {
  std::string text;
  if (lines_on_screen_ > 0) text = "\033[" + std::to_string(lines_on_screen_) + "A\033[J";
  lines_on_screen_ = 0;
  for (const auto& [node, doing] : doing_) {
    if (lines_on_screen_ == kMaxLiveLines) break;
    // A line that wraps would throw the count off.
    text += ("  " + node + "  " + doing).substr(0, 78) + "\n";
    ++lines_on_screen_;
  }
  std::fputs(text.c_str(), stderr);
}

void ProgressDisplay::give_signs_of_life(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, kSignOfLife, [&] { return stop.stop_requested(); })) {
    if (stop.stop_requested()) return;
    if (console_.quiet() || console_.live_progress() || doing_.empty()) continue;
    if (std::chrono::steady_clock::now() - last_event_ < kSignOfLife) continue;
    std::string text = "still working:";
    for (const auto& [node, doing] : doing_) text += " " + node + " (" + doing + ")";
    std::fputs((text + "\n").c_str(), stderr);
  }
}

}  // namespace sparkplan
