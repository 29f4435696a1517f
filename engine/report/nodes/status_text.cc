// The text of `status`.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/nodes/status_report.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/text_table.h"
#include "engine/verify/check.h"

namespace sparkplan {
namespace {

/// The kinds of nodes in the last line, and the colours of their states.
enum class Standing : std::uint8_t {
  kInSync,
  kDrifted,
  kPending,
  kNotApplied,
  kUnreachable,
  kBroken,
  kSkipped,
  kLeaving
};

constexpr std::array<std::string_view, 8> kStandingWords{"in sync",     "drifted", "pending", "not applied",
                                                         "unreachable", "failed",  "skipped", "leaving"};

Standing standing_of(const NodeReport& node, const NodeState& state) {
  if (node.membership == Membership::kLeaving) return Standing::kLeaving;
  switch (node.status) {
    case NodeStatus::kInSync:
      return Standing::kInSync;
    case NodeStatus::kDrifted:
      return Standing::kDrifted;
    case NodeStatus::kPending:
      return state.last_apply.empty() ? Standing::kNotApplied : Standing::kPending;
    case NodeStatus::kSkipped:
      return Standing::kSkipped;
    case NodeStatus::kUnreachable:
      return Standing::kUnreachable;
    default:
      return Standing::kBroken;
  }
}

Colour colour_of(Standing standing) {
  switch (standing) {
    case Standing::kInSync:
      return Colour::kGreen;
    case Standing::kUnreachable:
    case Standing::kBroken:
      return Colour::kRed;
    case Standing::kSkipped:
      return Colour::kDim;
    default:
      return Colour::kYellow;
  }
}

std::string state_text(const NodeReport& node, const NodeState& state) {
  switch (standing_of(node, state)) {
    case Standing::kDrifted:
      return std::to_string(count_changes(node.plan, true)) + " drifted";
    case Standing::kPending:
      return std::to_string(count_changes(node.plan, false)) + " pending";
    case Standing::kBroken:
      return std::string(to_string(node.status));  // "failed", "refused"
    case Standing::kSkipped:
      return state.maintenance ? "maintenance" : "skipped";
    default:
      return std::string(kStandingWords.at(static_cast<std::size_t>(standing_of(node, state))));
  }
}

std::string fabric_text(const NodeState& state) {
  if (!state.fabric) return "";
  std::vector<std::string> mtus;
  for (const int mtu : state.fabric->mtus) mtus.push_back(std::to_string(mtu));
  return fmt::format("{}/{} up", state.fabric->up, state.fabric->ports) +
         (mtus.empty() ? "" : ", mtu " + join(mtus, "/"));
}

std::string verify_text(const NodeState& state, const LocalClock& clock) {
  if (state.agent == AgentState::kUnknown) return "";
  if (!state.last_verify) return "never";
  const VerifySummary& last = *state.last_verify;
  std::string outcome = last.failed > 0   ? std::to_string(last.failed) + " failed"
                        : last.warned > 0 ? counted(static_cast<std::size_t>(last.warned), "warning")
                                          : std::to_string(last.passed) + " passed";
  if (!last.level.empty() && last.level != "all") outcome += level_from(last.level) ? " (" + last.level + ")" : " (?)";
  return local_time_text(last.time, clock) + ", " + outcome;
}

std::string apply_text(const NodeState& state, const LocalClock& clock) {
  if (state.agent == AgentState::kUnknown) return "";
  if (state.last_apply.empty()) return "never";
  return local_time_text(state.last_apply, clock);
}

constexpr std::size_t kMostJobsShown = 4;
constexpr std::size_t kLongestShownCommand = 100;

std::vector<std::string> job_notes(const NodeState& state, const LocalClock& clock) {
  std::vector<std::string> notes;
  for (const RunningJob& job : state.jobs) {
    if (notes.size() == kMostJobsShown) {
      notes.push_back(std::to_string(state.jobs.size() - kMostJobsShown) + " more jobs");
      break;
    }
    const std::string who = job.who.empty() ? "" : " (" + in_quotes(printable_words(job.who)) + ")";
    notes.push_back("job " + printable_words(job.id) + " of " + printable_words(job.user) + " since " +
                    local_time_text(job.since, clock) + who + ": " +
                    printable_words(cut_text(job.command, kLongestShownCommand)));
  }
  return notes;
}

std::vector<std::string> notes_on(const NodeReport& node) {
  std::vector<std::string> notes;
  if (!node.lock_holder.empty()) notes.push_back("locked by " + printable_words(node.lock_holder));
  if (node.not_contacted) notes.emplace_back("it left the file; `sparkplan plan --yes-prune` shows what is restored");
  for (const BlockedResource& blocked : node.plan.blocked) {
    notes.push_back(printable(blocked.id.words() + ": " + blocked.error.describe()));
  }
  return notes;
}

bool needs_attention(const NodeReport& node, const NodeState& state) {
  const Standing standing = standing_of(node, state);
  return (standing != Standing::kInSync && standing != Standing::kSkipped) || node.error || !notes_on(node).empty();
}

std::string nodes_table(const StatusReport& report, const LocalClock& clock, const TextStyle& style) {
  TextTable table{{"NODE", "STATE", "FABRIC", "LAST VERIFY", "LAST APPLY", "MANAGED"}, {}, true};
  for (std::size_t at = 0; at < report.nodes.size(); ++at) {
    const NodeReport& node = report.run.nodes[at];
    const NodeState& state = report.nodes[at];
    if (style.quiet && !needs_attention(node, state)) continue;
    const bool bad_fabric = state.fabric && state.fabric->up < state.fabric->ports;
    const bool bad_verify = state.last_verify && state.last_verify->failed > 0;
    auto notes = notes_on(node);
    for (std::string& job : job_notes(state, clock)) notes.push_back(std::move(job));
    table.rows.push_back({{{printable(node.name), Colour::kBold},
                           {state_text(node, state), colour_of(standing_of(node, state))},
                           {fabric_text(state), bad_fabric ? Colour::kYellow : Colour::kNone},
                           {verify_text(state, clock), bad_verify ? Colour::kRed : Colour::kNone},
                           {apply_text(state, clock), Colour::kNone},
                           {state.last_apply.empty() ? "" : std::to_string(state.resources), Colour::kNone}},
                          std::move(notes)});
  }
  return table_text(table, 0, style) + node_errors_text(report.run, style);
}

std::string agent_text(AgentState agent) {
  switch (agent) {
    case AgentState::kThisBuild:
      return "this build";
    case AgentState::kOtherBuild:
      return "other build";
    default:
      return "";
  }
}

/// One row for all nodes with the same software, so that the odd one is seen at once.
std::string software_table(const StatusReport& report, const TextStyle& style) {
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> groups;
  for (std::size_t at = 0; at < report.nodes.size(); ++at) {
    const NodeState& state = report.nodes[at];
    if (state.agent != AgentState::kThisBuild && state.agent != AgentState::kOtherBuild) continue;
    std::vector<std::string> software{agent_text(state.agent), printable_words(state.os),
                                      printable_words(state.gpu_driver), printable_words(state.nccl_version)};
    const auto same = std::ranges::find_if(groups, [&](const auto& group) { return group.first == software; });
    const auto name = printable(report.run.nodes[at].name);
    if (same != groups.end()) {
      same->second.push_back(name);
    } else {
      groups.emplace_back(std::move(software), std::vector{name});
    }
  }
  TextTable table{{"SPARKPLAN", "OS", "GPU DRIVER", "NCCL", "NODES"}, {}, true};
  for (auto& [software, names] : groups) {
    software.push_back(fold_names(names));
    table.add(std::move(software));
  }
  return table_text(table, 0, style);
}

std::string summary_of(const StatusReport& report, const TextStyle& style) {
  std::array<std::size_t, kStandingWords.size()> counts{};
  for (std::size_t at = 0; at < report.nodes.size(); ++at) {
    ++counts.at(static_cast<std::size_t>(standing_of(report.run.nodes[at], report.nodes[at])));
  }
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    if (counts.at(at) > 0) parts.push_back(fmt::format("{} {}", counts.at(at), kStandingWords.at(at)));
  }
  return wrapped("Status: " + join(parts, ", ") + (report.run.interrupted ? ". Interrupted" : "") +
                     fmt::format(". {:.2f} s", report.run.duration.count()),
                 0, style);
}

/// The commands that show and change what the states only count. Empty if no node needs one of them.
std::string next_commands(const StatusReport& report, const TextStyle& style) {
  bool drifted = false, pending = false;
  for (std::size_t at = 0; at < report.nodes.size(); ++at) {
    const Standing standing = standing_of(report.run.nodes[at], report.nodes[at]);
    drifted = drifted || standing == Standing::kDrifted;
    pending = pending || standing == Standing::kPending || standing == Standing::kNotApplied;
  }
  std::vector<std::string> words;
  if (drifted) words.emplace_back("`sparkplan drift` shows what was edited on the nodes");
  if (drifted || pending) words.emplace_back("`sparkplan plan` shows what `sparkplan apply` changes");
  return words.empty() ? "" : wrapped("Next: " + join(words, "; ") + ".", 0, style);
}

}  // namespace

std::size_t count_changes(const NodePlan& plan, bool drifted) {
  return static_cast<std::size_t>(std::count_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
    return !change.is_harmless() && (change.origin != Origin::kConfig) == drifted;
  }));
}

std::string to_text(const StatusReport& report, const LocalClock& clock, const TextStyle& style) {
  std::string text = nodes_table(report, clock, style);
  if (style.quiet) return text + summary_of(report, style);
  const auto software = software_table(report, style);
  const auto title = "Cluster " + printable(report.run.cluster) + " of " + printable(report.run.file) + ", " +
                     counted(report.nodes.size(), "node");
  return wrapped(title, 0, style) + "\n" + text + "\n" + (software.empty() ? "" : software + "\n") +
         next_commands(report, style) + summary_of(report, style);
}

}  // namespace sparkplan
