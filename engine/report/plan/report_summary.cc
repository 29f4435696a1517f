#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/core/text.h"
#include "engine/report/changes/change_text.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

/// Changes of one kind, and the number of nodes with such changes.
struct Count {
  std::size_t changes = 0;
  std::size_t nodes = 0;

  void add(std::size_t on_this_node) {
    changes += on_this_node;
    if (on_this_node > 0) ++nodes;
  }
};

struct Counts {
  std::size_t create = 0, update = 0, remove = 0;  ///< Planned or, after an apply, done.
  Count work, drift, pending, foreign, blocked, waiting, failed, not_done, not_known, kept;
  std::size_t nodes = 0, looked_at = 0, unreachable = 0, broken = 0, refused = 0, rolled_back = 0, skipped = 0,
              not_contacted = 0, stopped = 0;
  std::size_t leaving = 0, released = 0, forgotten = 0;
};

template <class Matches>
std::size_t count_changes(const NodeReport& node, Matches matches) {
  const auto& changes = node.plan.changes;
  return static_cast<std::size_t>(std::count_if(changes.begin(), changes.end(), matches));
}

void count_status(const NodeReport& node, Counts& counts) {
  ++counts.nodes;
  if (node.status == NodeStatus::kUnreachable) ++counts.unreachable;
  const bool stopped = node.error && node.error->code == ErrorCode::kInterrupted;
  if (stopped) ++counts.stopped;
  if (node.status == NodeStatus::kFailed && node.plan.blocked.empty() && !stopped) ++counts.broken;
  if (node.status == NodeStatus::kRefused) ++counts.refused;
  if (node.status == NodeStatus::kRolledBack) ++counts.rolled_back;
  if (node.status == NodeStatus::kSkipped) ++counts.skipped;
  if (node.status == NodeStatus::kReleased) ++counts.released;
  if (node.status == NodeStatus::kForgotten) ++counts.forgotten;
  if (node.membership == Membership::kLeaving && !has_left(node.status)) ++counts.leaving;
  if (node.not_contacted && !node.error && node.status != NodeStatus::kSkipped) ++counts.not_contacted;
  counts.looked_at = counts.nodes - counts.unreachable - counts.broken - counts.refused - counts.skipped -
                     counts.not_contacted - counts.stopped - counts.forgotten;
}

Counts count(const Report& report) {
  Counts counts;
  const bool applied = report.carries_out();
  for (const NodeReport& node : report.nodes) {
    count_status(node, counts);
    const auto is = [](Origin origin) { return [origin](const Change& change) { return change.origin == origin; }; };
    counts.drift.add(count_changes(node, is(Origin::kDrift)));
    counts.pending.add(count_changes(node, is(Origin::kConfig)));
    counts.foreign.add(count_changes(
        node, [](const Change& change) { return change.origin == Origin::kForeign && !change.is_harmless(); }));
    counts.blocked.add(static_cast<std::size_t>(std::ranges::count_if(
        node.plan.blocked, [&](const BlockedResource& blocked) { return !is_shown_as_change(blocked, node); })));
    counts.waiting.add(node.plan.waiting.size());
    counts.kept.add(node.plan.kept_orphans.size());
    const auto ours = [&](Outcome outcome) {
      return [&node, outcome](const Change& change) {
        return change.origin != Origin::kForeign && outcome_of(node, change.id) == outcome;
      };
    };
    counts.failed.add(count_changes(node, ours(Outcome::kFailed)));
    counts.not_done.add(count_changes(node, ours(Outcome::kNotDone)));
    counts.not_known.add(count_changes(node, ours(Outcome::kUnknown)));
    const auto counted_action = [&](Action action) {
      return count_changes(node, [&](const Change& change) {
        if (change.origin == Origin::kForeign || change.action != action) return false;
        return !applied || outcome_of(node, change.id) == Outcome::kDone;
      });
    };
    const std::size_t create = counted_action(Action::kCreate);
    const std::size_t update = counted_action(Action::kUpdate);
    const std::size_t remove = counted_action(Action::kRemove);
    counts.create += create;
    counts.update += update;
    counts.remove += remove;
    counts.work.add(create + update + remove);
  }
  return counts;
}

/// "8 nodes", or "7 of 8 nodes" if a node could not be asked.
std::string asked_nodes(const Counts& counts) {
  if (counts.looked_at == counts.nodes) return counted(counts.nodes, "node");
  return fmt::format("{} of {}", counts.looked_at, counted(counts.nodes, "node"));
}

std::string sum(const char* title, const Count& count, std::string_view noun) {
  return fmt::format("{}: {} on {}", title, counted(count.changes, noun), counted(count.nodes, "node"));
}

std::string of_nodes(std::size_t number, const Counts& counts) {
  return fmt::format("{} of {}", number, counted(counts.nodes, "node"));
}

/// "2 of 8 nodes"
std::string of_all(const Count& count, const Counts& counts) { return of_nodes(count.nodes, counts); }

/// True if the run saw all that it was asked to see, so that "nothing to do" is the truth.
bool saw_everything(const Report& report, const Counts& c) {
  const bool trouble = c.unreachable + c.broken + c.refused + c.rolled_back + c.stopped > 0;
  const bool left_out = c.blocked.changes + c.waiting.changes > 0 || has_errors(report.diagnostics);
  return !trouble && !left_out && !report.interrupted;
}

/// "Plan: nothing to do on 8 nodes", or less if the run could not see everything.
std::string without_work(const char* title, const Report& report, const Counts& c) {
  if (c.looked_at == 0) return fmt::format("{}: nothing, no node was compared", title);
  if (saw_everything(report, c)) return fmt::format("{}: nothing to do on {}", title, asked_nodes(c));
  return fmt::format("{}: no changes on {}", title, asked_nodes(c));
}

/// "Drift: none", with all that keeps this from being the whole truth. Edits that are left unchanged are in notes.
std::string no_drift(const Counts& c, const std::string& where) {
  if (c.looked_at == 0) return "Drift: not known, no node was compared";
  if (c.kept.changes == 0) return "Drift: none" + where;
  return "Drift: none" + where + " except " + counted(c.kept.changes, "edited resource") + " left unchanged";
}

std::vector<std::string> sentences_of_drift(const Counts& c) {
  std::string drift = no_drift(c, " on " + asked_nodes(c));
  if (c.drift.changes > 0)
    drift = fmt::format("Drift: {} on {}", counted(c.drift.changes, "change"), of_all(c.drift, c));
  return {std::move(drift), c.pending.changes == 0 ? "Pending: none" : sum("Pending", c.pending, "change")};
}

std::vector<std::string> sentences_of_apply(const Report& report, const Counts& c) {
  if (report.not_begun) return {"Not started: nothing was changed on any node"};
  const std::size_t undone = c.failed.changes + c.not_done.changes + c.not_known.changes;
  const bool back = report.command == "rollback";
  const char* done = back ? "Rolled back" : "Applied";
  if (c.work.changes + undone == 0) return {without_work(done, report, c)};
  if (undone > 0) done = back ? "Rolled back in part" : "Applied in part";
  if (c.work.changes == 0) done = back ? "Not rolled back" : "Not applied";
  std::vector<std::string> parts = {
      fmt::format("{}: {} added, {} changed, {} removed on {}", done, c.create, c.update, c.remove, of_all(c.work, c))};
  if (c.failed.changes > 0) parts.push_back(sum("Failed", c.failed, "change"));
  if (c.not_done.changes > 0) parts.push_back(sum("Not done", c.not_done, "change"));
  if (c.not_known.changes > 0) parts.push_back(sum("Unknown", c.not_known, "change"));
  return parts;
}

std::vector<std::string> sentences_of_plan(const Report& report, const Counts& c) {
  const std::string where = c.looked_at == c.nodes ? "" : " on " + asked_nodes(c);
  return {c.work.changes == 0 ? without_work("Plan", report, c)
                              : fmt::format("Plan: {} to add, {} to change, {} to remove on {}", c.create, c.update,
                                            c.remove, of_all(c.work, c)),
          c.drift.changes == 0 ? no_drift(c, where) : sum("Drift", c.drift, "change")};
}

std::vector<std::string> first_sentences(const Report& report, const Counts& c) {
  const bool nothing_found = c.work.changes + c.failed.changes + c.not_done.changes + c.not_known.changes == 0;
  if (c.stopped > 0 && nothing_found && !report.carries_out())
    return {"Stopped before " + of_nodes(c.stopped, c) + " could be read"};
  if (report.command == "drift") return sentences_of_drift(c);
  return report.carries_out() ? sentences_of_apply(report, c) : sentences_of_plan(report, c);
}

/// Adds "spark-02/ssh_trust/nvidia", which makes the unknown parts of the value. A large cluster has a million of them.
void collect_producers(const Value& value, std::unordered_set<std::string_view>& producers) {
  if (const auto* unknown = value.unknown()) {
    producers.insert(unknown->producer);
  } else if (const auto* items = value.list_items()) {
    for (const Value& item : *items) collect_producers(item, producers);
  } else if (const auto* entries = value.entries()) {
    for (const MapEntry& entry : *entries) collect_producers(entry.value, producers);
  }
}

/// ", for ssh_trust/nvidia of spark-[01-08]": the changes that make the awaited values. Empty if none is known.
std::string what_is_awaited(const Report& report) {
  constexpr std::size_t kMostNamed = 2;
  std::unordered_set<std::string_view> producers;
  for (const NodeReport& node : report.nodes) {
    for (const Change& change : node.plan.changes) {
      for (const FieldChange& field : change.fields) collect_producers(field.after, producers);
    }
  }
  std::map<std::string, std::vector<std::string>> nodes_of;
  for (const std::string_view producer : producers) {
    const std::size_t slash = producer.find('/');
    if (slash == std::string_view::npos) continue;
    nodes_of[printable(producer.substr(slash + 1))].push_back(printable(producer.substr(0, slash)));
  }
  std::vector<std::string> parts;
  for (auto& [change, nodes] : nodes_of) {
    if (parts.size() == kMostNamed) {
      parts.push_back(std::to_string(nodes_of.size() - kMostNamed) + " more");
      break;
    }
    std::sort(nodes.begin(), nodes.end());
    parts.push_back(change + " of " + fold_names(nodes));
  }
  return parts.empty() ? "" : ", for " + join(parts, " and ");
}

void add_what_is_special(const Report& report, const Counts& c, std::vector<std::string>& parts) {
  if (c.foreign.changes > 0) parts.push_back(sum("Foreign", c.foreign, "setting"));
  if (c.waiting.changes > 0 && !report.carries_out())
    parts.push_back(sum("Waiting", c.waiting, "resource") + what_is_awaited(report));
  if (c.blocked.changes > 0) parts.push_back(sum("Blocked", c.blocked, "resource"));
  const auto nodes = [&](std::size_t number, std::string_view words) {
    if (number > 0) parts.push_back(counted(number, "node") + " " + std::string(words));
  };
  nodes(c.unreachable, "unreachable");
  nodes(c.broken, "failed");
  if (parts.front().rfind("Stopped", 0) != 0) nodes(c.stopped, "not finished");
  nodes(c.refused, "refused");
  nodes(c.rolled_back, "rolled back");
  nodes(c.skipped, "skipped");
  nodes(c.released, "released");
  nodes(c.forgotten, "forgotten");
  nodes(c.leaving, "leaving the cluster");
  if (report.partial) parts.push_back("Partial: limited by --only or --exclude");
  if (report.interrupted) parts.push_back("Interrupted");
}

/// The verdict, then its details.
std::vector<std::string> verdict_sentences(const Report& report) {
  const Counts counts = count(report);
  std::vector<std::string> sentences = first_sentences(report, counts);
  add_what_is_special(report, counts, sentences);
  return sentences;
}

std::string end_of_verdict(const Report& report) { return fmt::format(". {:.2f} s", report.duration.count()); }

}  // namespace

std::string verdict_line(const Report& report) {
  return join(verdict_sentences(report), ". ") + end_of_verdict(report);
}

std::string verdict_text(const Report& report, const TextStyle& style) {
  std::vector<std::string> sentences = verdict_sentences(report);
  const std::string end = end_of_verdict(report);
  const std::string whole = join(sentences, ". ") + end;
  if (text_width(whole) <= columns_of(style)) return whole + "\n";
  const std::string verdict = sentences.front() + end;
  sentences.erase(sentences.begin());
  std::string details;
  if (!sentences.empty()) details = wrapped(join(sentences, ". ") + ".", 0, style);
  return details + wrapped(verdict, 0, style);
}

}  // namespace sparkplan
