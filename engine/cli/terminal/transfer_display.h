#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/report/sync_report.h"
#include "engine/sync/sync_run.h"

namespace sparkplan {

/// Prints the progress of readings and transfers: on live lines, as one line per node every ten seconds and one at the
/// end, or as JSON objects. Those alone also name the work of engines: RunOptions::progress names that elsewhere.
class TransferDisplay {
 public:
  using Clock = std::chrono::steady_clock;

  TransferDisplay(const Console& console, ProgressDisplay& display, bool json)
      : console_(console), display_(display), json_(json) {}

  /// From any thread.
  void tell(const ContentItem& item, const std::string& node, const TransferProgress& progress,
            Clock::time_point now = Clock::now());

 private:
  const Console& console_;
  ProgressDisplay& display_;
  const bool json_;
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> next_line_;
};

}  // namespace sparkplan
