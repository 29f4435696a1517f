#include "engine/cli/output/history_text.h"

#include <fmt/format.h>

#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string outcome_words(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kApplied:
      return "applied";
    case RunOutcome::kFailed:
      return "failed";
    case RunOutcome::kRolledBack:
      return "rolled back";
    case RunOutcome::kBrokenOff:
      return "broken off";
  }
  return "";
}

std::string nodes_text(const ClusterHistoryEntry& entry) {
  constexpr const char* kOfLog = "from this controller's log";
  std::vector<std::string> places;
  if (!entry.nodes.empty()) places.push_back(fold_names(entry.nodes));
  if (!entry.recorded_nodes.empty()) places.push_back(fold_names(entry.recorded_nodes) + " (" + kOfLog + ")");
  if (!entry.left_nodes.empty())
    places.push_back(fold_names(entry.left_nodes) + " (no longer in the cluster, " + kOfLog + ")");
  std::string text = places.empty() ? "" : " on " + join(places, " and on ");
  if (!entry.forgotten_nodes.empty()) text += ", forgot " + fold_names(entry.forgotten_nodes) + " without contact";
  return text;
}

/// ", spark-02 says: rolled back, undone by RUN". A claim of no run is "undone by no run".
std::string other_claim(const OtherClaim& claim) {
  std::vector<std::string> words;
  const auto say = [&](std::string_view what, const std::optional<std::string>& value, std::string_view none) {
    if (value)
      words.push_back(std::string(what) + " " + (value->empty() ? std::string(none) : printable_words(*value)));
  };
  if (claim.outcome) words.push_back(outcome_words(*claim.outcome));
  if (claim.changes) words.push_back(counted(static_cast<std::size_t>(*claim.changes), "change"));
  say("undoes", claim.undoes, "no run");
  say("undone by", claim.undone_by, "no run");
  if (claim.saved_plan)
    words.push_back(claim.saved_plan->empty() ? "of no plan" : "of plan " + printable_words(*claim.saved_plan));
  return ", " + claim.node + " says: " + join(words, ", ");
}

/// Everything behind the columns.
std::string run_words(const ClusterHistoryEntry& entry) {
  const auto& run = entry.run;
  std::string text = nodes_text(entry);
  if (!run.purpose.undoes.empty()) text += ", undoes " + printable_words(run.purpose.undoes);
  if (!run.undone_by.empty()) text += ", undone by " + printable_words(run.undone_by);
  if (!run.purpose.saved_plan.empty()) text += ", of plan " + printable_words(run.purpose.saved_plan);
  for (const OtherClaim& claim : entry.other_claims) text += other_claim(claim);
  if (entry.reported_by_one()) {
    text += ", reported only by " + entry.nodes.front();
  } else if (entry.reported_by_few()) {
    text += fmt::format(", reported by only {} of {} nodes", entry.nodes.size(), entry.could_report);
  }
  return text;
}

/// The columns of a run: time, id, operation, user, outcome, changes. A line that is too long continues at kRun.
std::string run_line(const ClusterHistoryEntry& entry, const LocalClock& clock, const TextStyle& style) {
  constexpr std::size_t kRun = 14, kOperation = 41, kUser = 51, kOutcome = 73, kChanges = 86;
  const auto& run = entry.run;
  const std::string begun = local_time_text(run.time, clock);
  FlowingLine line(begun, text_width(begun), kRun, style);
  line.add({printable_words(run.run)});
  line.add_at({printable_words(run.operation)}, kOperation);
  line.add_at({printable_words(run.who)}, kUser);
  line.add_at({outcome_words(run.outcome)}, kOutcome);
  std::string changes = counted(static_cast<std::size_t>(run.changes), "change");
  std::string words = run_words(entry);
  if (words.starts_with(',')) changes += ',';
  line.add_at({changes}, kChanges + text_width(changes) <= columns_of(style) ? kChanges : kRun);
  line.add_words(std::string_view(words).substr(words.starts_with(',') ? 1 : 0), Colour::kNone, 1);
  return std::move(line).text();
}

std::string artifact_lines(const JournaledRun& run, const TextStyle& style) {
  constexpr std::size_t kType = 12, kName = 28;
  std::string text;
  for (const auto& one : run.artifacts) {
    const std::string outcome = "  " + printable_words(one.outcome);
    FlowingLine line(outcome, text_width(outcome), kType, style);
    line.add({printable_words(one.type)});
    line.add_at({printable(one.artifact.name) + (one.error.empty() ? "" : ":")}, kName);
    line.add_words(printable_words(one.error), Colour::kNone, 1);
    text += std::move(line).text();
  }
  return run.more_artifacts ? text + "  and more\n" : text;
}

Value list_of(const std::vector<std::string>& names) { return Value(Value::List(names.begin(), names.end())); }

Value claim_value(const OtherClaim& claim) {
  Value value = Value::map({{"node", claim.node}});
  if (claim.outcome) value.set("outcome", to_string(*claim.outcome));
  if (claim.changes) value.set("changes", *claim.changes);
  if (claim.saved_plan) value.set("saved_plan", *claim.saved_plan);
  if (claim.undoes) value.set("undoes", *claim.undoes);
  if (claim.undone_by) value.set("undone_by", *claim.undone_by);
  return value;
}

Value run_value(const ClusterHistoryEntry& entry, bool with_artifacts) {
  const auto& run = entry.run;
  Value::List nodes(entry.nodes.begin(), entry.nodes.end());
  nodes.insert(nodes.end(), entry.recorded_nodes.begin(), entry.recorded_nodes.end());
  nodes.insert(nodes.end(), entry.left_nodes.begin(), entry.left_nodes.end());
  nodes.insert(nodes.end(), entry.forgotten_nodes.begin(), entry.forgotten_nodes.end());
  Value value = Value::map({{"run", run.run},
                            {"time", run.time},
                            {"who", run.who},
                            {"operation", run.operation},
                            {"outcome", to_string(run.outcome)},
                            {"changes", run.changes},
                            {"nodes", Value(std::move(nodes))}});
  if (!run.purpose.saved_plan.empty()) value.set("saved_plan", run.purpose.saved_plan);
  if (!run.purpose.undoes.empty()) value.set("undoes", run.purpose.undoes);
  if (!run.undone_by.empty()) value.set("undone_by", run.undone_by);
  if (!entry.recorded_nodes.empty()) value.set("recorded_nodes", list_of(entry.recorded_nodes));
  if (!entry.left_nodes.empty()) value.set("left_nodes", list_of(entry.left_nodes));
  if (!entry.forgotten_nodes.empty()) value.set("forgotten_nodes", list_of(entry.forgotten_nodes));
  if (entry.reported_by_few()) value.set("reported_by_few", true);
  if (!entry.other_claims.empty()) {
    Value claims{Value::List{}};
    for (const OtherClaim& claim : entry.other_claims) claims.push_back(claim_value(claim));
    value.set("other_claims", std::move(claims));
  }
  if (!with_artifacts) return value;
  Value artifacts{Value::List{}};
  for (const auto& one : run.artifacts) {
    Value artifact = Value::map({{"type", one.type}, {"artifact", one.artifact.str()}, {"outcome", one.outcome}});
    if (!one.error.empty()) artifact.set("error", one.error);
    artifacts.push_back(std::move(artifact));
  }
  value.set("artifacts", std::move(artifacts));
  return value;
}

std::string status_of(const NodeHistory& history) {
  if (history.error) return history.error->code == ErrorCode::kUnreachable ? "unreachable" : "failed";
  if (!history.reply.damaged.empty()) return "damaged";
  return history.applied ? "read" : "never_applied";
}

Value node_value(const NodeHistory& history) {
  Value damaged{Value::List{}};
  for (const auto& one : history.reply.damaged) {
    damaged.push_back(Value::map({{"file", one.file}, {"message", one.error.describe()}}));
  }
  Value value = Value::map({{"name", history.node}, {"status", status_of(history)}, {"damaged", std::move(damaged)}});
  if (history.error) value.set("message", history.error->describe());
  return value;
}

}  // namespace

std::string history_text(const std::vector<ClusterHistoryEntry>& entries, bool with_artifacts, const LocalClock& clock,
                         const TextStyle& style) {
  std::string text;
  for (const auto& entry : entries) {
    text += run_line(entry, clock, style);
    if (with_artifacts) text += artifact_lines(entry.run, style);
  }
  return text;
}

Value history_json(const std::string& cluster, const std::vector<ClusterHistoryEntry>& entries,
                   const std::vector<NodeHistory>& histories, bool with_artifacts) {
  Value runs{Value::List{}};
  for (const auto& entry : entries) runs.push_back(run_value(entry, with_artifacts));
  Value nodes{Value::List{}};
  for (const auto& history : histories) nodes.push_back(node_value(history));
  Value whole = Value::map({{"format_version", "1.0"}, {"command", "history"}, {"cluster", cluster}});
  // Value::map() copies its parts. These can have many megabytes.
  whole.set("runs", std::move(runs));
  whole.set("nodes", std::move(nodes));
  return whole;
}

std::vector<Error> gaps_in(const NodeHistory& history) {
  constexpr std::size_t kMostNamed = 3;
  constexpr const char* kHint = "read it on the node; to discard it, move it out of its directory";
  std::vector<Error> gaps;
  const auto& damaged = history.reply.damaged;
  for (const DamagedJournal& one : damaged) {
    if (gaps.size() == kMostNamed) break;
    gaps.push_back(Error{ErrorCode::kInvalidInput,
                         "the journal " + shown_text(one.file) + " is damaged: " + one.error.describe(),
                         {history.node},
                         std::nullopt,
                         kHint});
  }
  if (damaged.size() > kMostNamed) {
    gaps.push_back(Error{ErrorCode::kInvalidInput,
                         std::to_string(damaged.size() - kMostNamed) + " more of its journals are damaged",
                         {history.node},
                         std::nullopt,
                         "use --json to list all"});
  }
  return gaps;
}

}  // namespace sparkplan
