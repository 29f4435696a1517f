#include "engine/cli/terminal/transfer_display.h"

namespace sparkplan {
namespace {

/// Between two lines of a node, without live lines.
constexpr std::chrono::seconds kLineInterval{10};

}  // namespace

void TransferDisplay::tell(const ContentItem& item, const std::string& node, const TransferProgress& progress,
                           Clock::time_point now) {
  if (json_) {
    const auto line = progress_json(item, node, progress);
    const std::lock_guard lock(mutex_);
    return console_.remark(line);
  }
  // RunOptions::progress has named these phases already.
  if (progress.phase == TransferPhase::kSaving || progress.phase == TransferPhase::kLoading) return;
  {
    const std::lock_guard lock(mutex_);
    auto& next = next_line_[node];
    if (!console_.live_progress() && now < next && !progress.finished) return;
    next = progress.finished ? now : now + kLineInterval;
  }
  const auto activity = progress.finished ? Activity::kWaiting : Activity::kWorking;
  display_.tell(node, item.name + ": " + progress_text(progress), activity);
}

}  // namespace sparkplan
