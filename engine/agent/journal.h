#pragma once

#include <string>

#include "engine/agent/local_node.h"
#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// One run's append-only record on the node: /var/lib/sparkplan/journal/RUN.jsonl, one JSON object
/// a line. An intent is on the disk before its act; the runs kept are bounded.
class Journal {
 public:
  /// Opens or continues the run's file and removes all but the newest kKeptRuns.
  /// Errors: kPermissionDenied, kFailed, kInvalidInput for a run id that is no plain word.
  static Result<Journal> open(const std::string& run, LocalNode& node);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  /// Adds {"time": ..., "event": ..., ...fields} and syncs it.
  Result<void> append(std::string_view event, Value fields);

  static constexpr std::size_t kKeptRuns = 50;

 private:
  explicit Journal(int file) : file_(file) {}
  int file_;
};

/// Now as RFC 3339 in UTC: "2026-03-01T12:00:00Z".
std::string utc_now();

}  // namespace sparkplan
