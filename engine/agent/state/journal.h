#pragma once

#include <filesystem>
#include <string>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// The directory of the journals, with a file RUN.jsonl per run.
std::filesystem::path journal_directory();

/// The append-only record of one run on the node: one JSON object per line, with `time` and `event`. An intent is on
/// the disk before its step. The result of a step that is done is on the disk before the next step, and before the
/// reply. The number of kept runs is limited. The events:
/// - begin {run, previous, who, operation, saved_plan, undoes}: the first line; `previous` is the run before on this
/// node;
/// - intent {all of the Step, managed: the manifest's entries about its resources, null for none};
/// - result {type, artifact, outcome, error?}: of the latest intent for that artifact;
/// - armed {window_seconds}: the intents that follow are those of a trial;
/// - rolled_back {reason}: the node itself has undone the trial;
/// - commit {audit}: the run has ended normally.
class Journal {
 public:
  /// Opens or continues the run's file, and removes all but the newest kKeptRuns.
  /// Errors: kPermissionDenied, kFailed, kInvalidInput for a run id that is no plain word.
  static Result<Journal> open(const std::string& run, LocalNode& node);

  /// Appends {"time": ..., "event": ..., ...fields} and syncs it. An incomplete line is removed, so that the next line
  /// starts correctly.
  Result<void> append(std::string_view event, Value fields);

  /// As append(), but the line is on the disk only after the next append() or sync(). A sync brings all earlier lines
  /// to the disk, so the result of a step needs none before the intent of the next one.
  Result<void> append_for_next_sync(std::string_view event, Value fields);

  /// Brings all lines to the disk. Does nothing if they are there. Errors: kFailed.
  Result<void> sync();

  /// Writes the first line if the file is empty; the next line syncs it to disk.
  Result<void> begin(Value fields);

  static constexpr std::size_t kKeptRuns = 50;

 private:
  explicit Journal(FileDescriptor file) : file_(std::move(file)) {}
  Result<void> write_line(std::string_view event, Value fields, bool to_disk);
  FileDescriptor file_;
  bool unsynced_ = false;  ///< The last line is not on the disk yet.
};

/// Writes a line to syslog; a directory tree has none. `priority`: LOG_NOTICE. Source: syslog(3).
void log_to_syslog(int priority, const std::string& line, const LocalNode& node);

}  // namespace sparkplan
