#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/fields.h"

/// How the agent and other runs learn which jobs are on a node. A process starter writes a record of its job into its
/// own command line, where root reads it in /proc. It ends with the process, and no other user can change it.
namespace sparkplan {

/// The installed process starter.
inline constexpr std::string_view kJobStarterFile = "/usr/local/libexec/sparkplan/sparkplan-job";

/// The first argument of a process starter; the second one is room for the record.
inline constexpr std::string_view kJobServes = "--stdio";
inline constexpr std::size_t kJobRecordRoom = 1024;
/// In place of an id that is unknown or no id.
inline constexpr const char* kNoJobId = "?";
/// The most bytes of JobRecord::who and JobRecord::command.
inline constexpr std::size_t kLongestJobOwner = 128;
inline constexpr std::size_t kLongestJobCommand = 512;
/// The most jobs that a node reports.
inline constexpr std::size_t kMostRunningJobs = 64;

/// The statement of a process starter about its job.
struct JobRecord {
  std::string id;
  std::string who;      ///< The user at the controller: "anna@laptop".
  std::string command;  ///< "python3 train.py"

  bool operator==(const JobRecord&) const = default;
};

/// Letters, digits and "-", at most 64: an id cannot be taken for other words of a sentence.
bool is_job_id(std::string_view id);

/// The content of the room, less than kJobRecordRoom bytes: texts that end in NUL. Long texts are cut. The command is
/// in base64, so that `pkill -f` finds the job's own processes and not its starter.
std::string text_of(const JobRecord& record);
/// The record in the command line of a process, as /proc/PID/cmdline has it. Nothing: it has none.
std::optional<JobRecord> job_record_in(std::string_view command_line);

/// A job of `exec` or `run` on a node.
struct RunningJob {
  std::string id;
  std::string user;      ///< Owns the process starter. The kernel says so; the texts of the record are the user's own.
  std::int64_t pid = 0;  ///< Of the process starter.
  std::string since;     ///< RFC 3339, UTC.
  std::string who;       ///< JobRecord::who
  std::string command;   ///< JobRecord::command

  /// "job 20260301T120000Z-4f9a1c07 of nvidia (process 4242) since 2026-03-01T12:00:00Z, started by "anna@laptop":
  /// python3 train.py". All that the kernel says comes before the user's own texts.
  std::string describe() const;
  bool operator==(const RunningJob&) const = default;
};

/// The refusal of a disruptive change beside these jobs: kBusy. `jobs` is not empty.
Error busy_with(const std::vector<RunningJob>& jobs);

/// Texts are cut and made safe for a terminal when they are read.
void list_fields(FieldVisitor& field, RunningJob& job);

}  // namespace sparkplan
