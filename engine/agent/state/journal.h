#pragma once

#include <filesystem>
#include <string>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Where the journals are, a file RUN.jsonl for each run.
std::filesystem::path journal_directory();

/// One run's append-only record on the node: one JSON object a line, with `time` and `event`. An
/// intent is on the disk before its act; the runs kept are bounded. The events:
/// - begin {run, previous, who, operation, saved_plan, undoes}: the first line; `previous` is the run before on this
/// node;
/// - intent {all of the Step, managed: what the manifest says of its resources, null for nothing};
/// - result {type, artifact, outcome, error?}: of the latest intent for that artifact;
/// - rolled_back {reason}: what the run did was undone by the node itself;
/// - commit {audit}: the run came to its end.
class Journal {
 public:
  /// Opens or continues the run's file and removes all but the newest kKeptRuns.
  /// Errors: kPermissionDenied, kFailed, kInvalidInput for a run id that is no plain word.
  static Result<Journal> open(const std::string& run, LocalNode& node);

  /// Adds {"time": ..., "event": ..., ...fields} and syncs it. What could not be written whole is taken
  /// back, so that the next line begins a line.
  Result<void> append(std::string_view event, Value fields);

  /// The first line, where there is none yet; it reaches the disk with the one after it.
  Result<void> begin(Value fields);

  static constexpr std::size_t kKeptRuns = 50;

 private:
  explicit Journal(FileDescriptor file) : file_(std::move(file)) {}
  Result<void> write_line(std::string_view event, Value fields, bool to_disk);
  FileDescriptor file_;
};

}  // namespace sparkplan
