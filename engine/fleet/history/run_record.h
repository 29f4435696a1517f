#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/fleet/history/history.h"
#include "engine/model/fields.h"
#include "engine/plan/report.h"

// Pure. What the controller's log of runs keeps of a run. It can only stop a rollback: otherwise, the nodes'
// journals decide.

namespace sparkplan {

/// A node that a run changed or tried to change.
struct RecordedNode {
  std::string name;
  std::string status;       ///< As to_string(NodeStatus).
  bool changed = false;     ///< Or may be, without a reply. False also in a log of an older version.
  std::string undoes = {};  ///< The run that a rollback undid there. Empty also in a log of an older version.
};

/// One line of the log. It has no values of resources, and thus no secrets.
struct RecordedRun {
  std::string run;
  std::string time;  ///< The beginning, by the controller's clock. RFC 3339, UTC.
  std::string cluster;
  std::string cluster_id;  ///< The uuid of its roster. Empty if the run read none, or one manifest of several nodes.
  std::string operation;   ///< "apply", "release", "rollback"
  std::string who;         ///< "anna@laptop"
  std::vector<RecordedNode> nodes;
  std::int64_t changes = 0;  ///< The changes that were done.
  std::int64_t exit_code = 0;
};
void list_fields(FieldVisitor& field, RecordedNode& node);
void list_fields(FieldVisitor& field, RecordedRun& run);

/// The record of a run; nothing for a run that sent no change to any node. `who`: LockHolder::who.
std::optional<RecordedRun> record_of(const Report& report, const std::string& who, int exit_code);

/// One line with its end.
std::string line_of(const RecordedRun& run);
/// Errors: those of decode_json() and decode().
Result<RecordedRun> parse_record(std::string_view line);

/// The most runs that only the log knows and that a history lists.
inline constexpr std::size_t kMostRecordedRuns = 200;

/// Whose runs a history lists.
struct HistoryScope {
  std::string cluster;                   ///< The name.
  std::vector<std::string> nodes;        ///< Of the file. Every other node has left.
  std::vector<std::string> cluster_ids;  ///< The uuids that the nodes report. Empty: every record with the name counts.
  std::function<bool(const std::string& node)> includes = [](const std::string&) { return true; };
};

/// True if the run belongs to the scope and took place on a node of it.
bool is_in(const HistoryScope& scope, const RecordedRun& run);

/// True if the log has that run of the cluster on that node.
bool is_recorded(const std::vector<RecordedRun>& records, const std::string& cluster, const std::string& run,
                 const std::string& node);

/// A run on one node.
struct RecordedOn {
  std::string run;
  std::string node;
};
/// The newest run after `last` that the log has as applied, with changes, on a node of the scope; nothing without one.
/// A rollback is no such run. Nor is a run that the node has lost since then, as far as the log knows: by a later
/// rollback of this run or an older one, or because the node left. `records` are oldest first.
std::optional<RecordedOn> newest_kept_run(const std::vector<RecordedRun>& records, const HistoryScope& scope,
                                          const std::string& last);

/// The runs of the scope that the log knows.
std::set<RunKey> runs_of(const std::vector<RecordedRun>& records, const HistoryScope& scope);

/// Adds what only the log knows: runs, and nodes of runs. Newest first. `records` are oldest first.
std::vector<ClusterHistoryEntry> with_records(std::vector<ClusterHistoryEntry> entries,
                                              const std::vector<RecordedRun>& records, const HistoryScope& scope);

}  // namespace sparkplan
