#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/history/run_record.h"

namespace sparkplan {

/// The log begins a new file at this size and keeps one earlier file.
inline constexpr std::size_t kLargestRunLog = std::size_t{1} << 20;

/// The folder of the log: $XDG_STATE_HOME/sparkplan, else ~/.local/state/sparkplan; empty without a home.
/// Source: XDG Base Directory Specification 0.8. A relative path in the variable is ignored.
std::string run_log_folder();

/// Appends one line to runs.jsonl (0600) in the folder, which is made if it is absent (0700). Simultaneous runs take
/// turns.
/// Errors: kRefused if the folder or the file belongs to another user, or is a link; kBusy if another run holds the log
/// for a second; those of the system calls.
Result<void> append_to_run_log(const std::string& folder, const RecordedRun& run);

/// The runs of both files, oldest first. A line that is no record is skipped. An absent log is empty.
/// Errors: kRefused as above; those of the system calls.
Result<std::vector<RecordedRun>> read_run_log(const std::string& folder);

}  // namespace sparkplan
