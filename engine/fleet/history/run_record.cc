#include "engine/fleet/history/run_record.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "engine/core/ids.h"
#include "engine/core/json.h"

namespace sparkplan {
namespace {

bool took_part(const NodeReport& node) {
  if (has_left(node.status) || node.status == NodeStatus::kRolledBack) return true;
  return std::any_of(node.outcomes.begin(), node.outcomes.end(), [](const auto& entry) {
    return entry.second != Outcome::kPlanned && entry.second != Outcome::kNotDone;
  });
}

RunOutcome outcome_of(const RecordedRun& run) {
  const auto has = [&](NodeStatus status) {
    return std::ranges::any_of(run.nodes, [&](const RecordedNode& node) { return node.status == to_string(status); });
  };
  if (has(NodeStatus::kFailed) || has(NodeStatus::kUnreachable) || has(NodeStatus::kRefused))
    return RunOutcome::kFailed;
  return has(NodeStatus::kRolledBack) ? RunOutcome::kRolledBack : RunOutcome::kApplied;
}

RunKey key_of(const ClusterHistoryEntry& entry) { return {entry.run.run, entry.run.who, entry.run.operation}; }

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_nodes(const RecordedRun& record, const HistoryScope& scope, ClusterHistoryEntry& entry) {
  for (const RecordedNode& node : record.nodes) {
    if (!scope.includes(node.name) || contains(entry.nodes, node.name) || !NodeName::parse(node.name)) continue;
    const bool forgotten = node.status == to_string(NodeStatus::kForgotten);
    auto& names = forgotten                          ? entry.forgotten_nodes
                  : contains(scope.nodes, node.name) ? entry.recorded_nodes
                                                     : entry.left_nodes;
    if (!contains(names, node.name)) names.push_back(node.name);
  }
}

ClusterHistoryEntry entry_of(const RecordedRun& record) {
  ClusterHistoryEntry entry;
  entry.run.run = record.run;
  entry.run.time = record.time;
  entry.run.who = record.who;
  entry.run.operation = record.operation;
  entry.run.outcome = outcome_of(record);
  entry.run.changes = record.changes;
  return entry;
}

/// Runs on one node that the log does not have as undone there.
using KeptRuns = std::set<std::string>;

void note_on_node(const RecordedRun& record, const RecordedNode& node, KeptRuns& kept) {
  if (node.status == to_string(NodeStatus::kReleased) || node.status == to_string(NodeStatus::kForgotten)) {
    return kept.clear();
  }
  if (record.operation != "rollback") {
    // Also if the node failed then: it could do so to have the run forgotten.
    if (node.changed) kept.insert(record.run);
  } else if (node.status == to_string(NodeStatus::kApplied)) {
    // A node undoes its newest run, so it has none newer than that. Otherwise a run that another controller has undone
    // would stop every rollback. Without the run's name, each run may be the one that was undone.
    kept.erase(kept.lower_bound(node.undoes), kept.end());
  }
}

}  // namespace

void list_fields(FieldVisitor& field, RecordedNode& node) {
  field("name", node.name, kRequired.cut_at(kLongestShortText));
  field("status", node.status, kShortText);
  field("changed", node.changed);
  field("undoes", node.undoes, kShortText.unless(node.undoes.empty()));
}

void list_fields(FieldVisitor& field, RecordedRun& run) {
  field("run", run.run, kRequired.cut_at(kLongestShortText));
  field("time", run.time, kShortText);
  field("cluster", run.cluster, kRequired.cut_at(kLongestShortText));
  field("cluster_id", run.cluster_id, kShortText);
  field("operation", run.operation, kShortText);
  field("who", run.who, kShortText);
  field("nodes", run.nodes, kRequired.first(kMostMembers));
  field("changes", run.changes, kOptional.within(0, std::numeric_limits<std::int32_t>::max()));
  field("exit_code", run.exit_code, kOptional.within(0, 255));
}

std::optional<RecordedRun> record_of(const Report& report, const std::string& who, int exit_code) {
  if (!report.carries_out() || report.not_begun || report.run.empty()) return std::nullopt;
  RecordedRun record;
  record.run = report.run;
  record.time = time_of_run(report.run);
  record.cluster = report.cluster;
  record.cluster_id = report.cluster_id;
  record.operation = report.command;
  record.who = who;
  record.exit_code = exit_code;
  for (const NodeReport& node : report.nodes) {
    if (!took_part(node)) continue;
    record.nodes.push_back({node.name, std::string(to_string(node.status)), node.may_have_changed, node.undoes});
    record.changes += std::count_if(node.outcomes.begin(), node.outcomes.end(),
                                    [](const auto& entry) { return entry.second == Outcome::kDone; });
  }
  if (record.nodes.empty()) return std::nullopt;
  return record;
}

std::string line_of(const RecordedRun& run) { return encode_json(encode(run)) + "\n"; }

Result<RecordedRun> parse_record(std::string_view line) {
  SPARK_TRY(const Value value, decode_json(line));
  return decode<RecordedRun>(value);
}

bool is_in(const HistoryScope& scope, const RecordedRun& run) {
  const bool known = scope.cluster_ids.empty() || run.cluster_id.empty() || contains(scope.cluster_ids, run.cluster_id);
  return run.cluster == scope.cluster && known &&
         std::ranges::any_of(run.nodes, [&](const RecordedNode& node) { return scope.includes(node.name); });
}

bool is_recorded(const std::vector<RecordedRun>& records, const std::string& cluster, const std::string& run,
                 const std::string& node) {
  return std::ranges::any_of(records, [&](const RecordedRun& record) {
    const auto is_node = [&](const RecordedNode& one) { return one.name == node; };
    return record.run == run && record.cluster == cluster && std::ranges::any_of(record.nodes, is_node);
  });
}

std::optional<RecordedOn> newest_kept_run(const std::vector<RecordedRun>& records, const HistoryScope& scope,
                                          const std::string& last) {
  std::map<std::string, KeptRuns> kept_on;
  for (const std::string& name : scope.nodes) kept_on[name];
  for (const RecordedRun& record : records) {
    if (!is_in(scope, record)) continue;
    for (const RecordedNode& node : record.nodes) {
      if (const auto found = kept_on.find(node.name); found != kept_on.end()) note_on_node(record, node, found->second);
    }
  }
  std::optional<RecordedOn> newest;
  for (const auto& [name, kept] : kept_on) {
    if (kept.empty() || *kept.rbegin() <= (newest ? newest->run : last)) continue;
    newest = RecordedOn{*kept.rbegin(), name};
  }
  return newest;
}

std::set<RunKey> runs_of(const std::vector<RecordedRun>& records, const HistoryScope& scope) {
  std::set<RunKey> runs;
  for (const RecordedRun& record : records) {
    if (is_in(scope, record)) runs.insert({record.run, record.who, record.operation});
  }
  return runs;
}

std::vector<ClusterHistoryEntry> with_records(std::vector<ClusterHistoryEntry> entries,
                                              const std::vector<RecordedRun>& records, const HistoryScope& scope) {
  std::map<RunKey, std::size_t> places;
  for (std::size_t i = 0; i < entries.size(); ++i) places.emplace(key_of(entries[i]), i);
  std::size_t added = 0;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (!is_in(scope, *record)) continue;
    ClusterHistoryEntry whole = entry_of(*record);
    const auto known = places.find(key_of(whole));
    if (known != places.end()) {
      add_nodes(*record, scope, entries[known->second]);
      continue;
    }
    if (added == kMostRecordedRuns) continue;
    add_nodes(*record, scope, whole);
    if (whole.recorded_nodes.empty() && whole.left_nodes.empty() && whole.forgotten_nodes.empty()) continue;
    ++added;
    places.emplace(key_of(whole), entries.size());
    entries.push_back(std::move(whole));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return key_of(a) > key_of(b); });
  return entries;
}

}  // namespace sparkplan
