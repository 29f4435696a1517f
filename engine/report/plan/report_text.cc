#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/report/changes/change_layout.h"
#include "engine/report/changes/change_text.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/shared_errors.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostAddresses = 3;

/// The place of a node's line. Those that join or leave come before the changes, the others behind them.
enum class Place : std::uint8_t { kBeforeChanges, kTrouble, kSkipped, kInSync };

/// Nodes with equal lines, with marks for their names and addresses.
struct NodeGroup {
  Place place = Place::kInSync;
  char symbol = '=';
  std::string title;  ///< After the names: "in sync", "unreachable: no route to host".
  std::string hint;
  std::vector<std::string> names;
  std::vector<std::string> addresses;

  bool says_the_same_as(const NodeGroup& other) const {
    return place == other.place && symbol == other.symbol && title == other.title && hint == other.hint;
  }
};

bool in_trouble(NodeStatus status) {
  return status == NodeStatus::kUnreachable || status == NodeStatus::kFailed || status == NodeStatus::kRefused ||
         status == NodeStatus::kRolledBack;
}

/// The number of failed changes, unless the node as a whole has an error.
std::string failure_words(const NodeReport& node) {
  const auto failed = std::count_if(node.outcomes.begin(), node.outcomes.end(),
                                    [](const auto& entry) { return entry.second == Outcome::kFailed; });
  if (node.error) return "failed";
  if (failed > 0) return counted(static_cast<std::size_t>(failed), "change") + " failed";
  if (!node.plan.blocked.empty()) return counted(node.plan.blocked.size(), "resource") + " blocked";
  return "failed";
}

std::string status_words(const NodeReport& node) {
  switch (node.status) {
    case NodeStatus::kUnreachable:
      return "unreachable";
    case NodeStatus::kFailed:
      return failure_words(node);
    case NodeStatus::kRefused:
      return "refused";
    case NodeStatus::kRolledBack:
      return "rolled back";
    case NodeStatus::kSkipped:
      return "skipped";
    case NodeStatus::kReleased:
      return "released";
    case NodeStatus::kForgotten:
      return "forgotten: not contacted, it keeps its configuration";
    case NodeStatus::kInSync:
      return "in sync";
    default:
      return "";
  }
}

std::string title_of(const NodeReport& node) {
  std::string title = status_words(node);
  const auto add = [&](std::string_view words) { title += (title.empty() ? "" : ", ") + std::string(words); };
  // A node that could not be read may be a member.
  if (node.membership == Membership::kJoining && node.status != NodeStatus::kApplied &&
      node.status != NodeStatus::kSkipped && !node.error)
    add(node.status == NodeStatus::kInSync ? "joining the cluster: apply only records it as a member"
                                           : "joining the cluster");
  if (node.membership == Membership::kLeaving && !has_left(node.status)) add("leaving the cluster");
  if (node.not_contacted && !node.error) add("not contacted: `apply --yes-prune` releases it");
  if (node.error) title += (title.empty() ? "" : ": ") + error_text(node);
  return title;
}

char symbol_of(const NodeReport& node) {
  if (in_trouble(node.status) || node.error) return '!';
  if (has_left(node.status) || node.membership == Membership::kLeaving) return '-';
  if (node.status == NodeStatus::kSkipped) return ' ';
  if (node.membership == Membership::kJoining) return '+';
  return node.status == NodeStatus::kInSync ? '=' : '~';
}

Place place_of(const NodeReport& node, char symbol) {
  if (symbol == '!') return Place::kTrouble;
  if (node.status == NodeStatus::kSkipped) return Place::kSkipped;
  if (has_left(node.status)) return Place::kTrouble;
  return symbol == '=' ? Place::kInSync : Place::kBeforeChanges;
}

NodeGroup group_of(const NodeReport& node) {
  NodeGroup group;
  group.symbol = symbol_of(node);
  group.title = title_of(node);
  if (node.error) {
    auto marked = with_marks({printable(node.name), printable(node.address), group.title, printable(node.error->hint)});
    group.title = std::move(marked.words);
    group.hint = std::move(marked.hint);
  }
  group.names.push_back(printable(node.name));
  if (!node.address.empty()) group.addresses.push_back(printable(node.address));
  group.place = place_of(node, group.symbol);
  return group;
}

bool is_shown(const NodeGroup& group, const TextStyle& style) {
  if (group.place == Place::kSkipped) return !style.quiet;
  if (group.place == Place::kInSync) return !style.quiet && style.show_in_sync;
  return !group.title.empty();  // The changes of the node say everything else.
}

std::vector<NodeGroup> groups_of(const Report& report, const TextStyle& style) {
  std::vector<NodeGroup> groups;
  for (const NodeReport& node : report.nodes) {
    NodeGroup group = group_of(node);
    if (!is_shown(group, style)) continue;
    const auto twin = std::ranges::find_if(groups, [&](const auto& g) { return g.says_the_same_as(group); });
    if (twin == groups.end()) {
      groups.push_back(std::move(group));
      continue;
    }
    twin->names.insert(twin->names.end(), group.names.begin(), group.names.end());
    twin->addresses.insert(twin->addresses.end(), group.addresses.begin(), group.addresses.end());
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
  return groups;
}

std::string text_of(const NodeGroup& group, const TextStyle& style) {
  FlowingLine line(paint(std::string(1, group.symbol), colour_of_symbol(group.symbol), style), 1, 2, style);
  line.add({fold_names(group.names), Colour::kBold, 1});
  const bool named_only = group.place == Place::kInSync || group.place == Place::kSkipped;
  if (!group.addresses.empty() && !named_only) {
    const bool few = group.addresses.size() <= kMostAddresses;
    line.add({"(" + (few ? join(group.addresses, ", ") : fold_names(group.addresses)) + ")", Colour::kNone, 1});
  }
  const Colour colour = group.symbol == '!' ? Colour::kRed : Colour::kNone;
  line.add_words(words_for(group.title, group.names, group.addresses), colour, 1);
  std::string text = std::move(line).text();
  if (group.hint.empty()) return text;
  for (const std::string& piece : broken("hint: " + hint_for(group.hint, group.addresses), columns_of(style) - 4))
    text += "    " + piece + "\n";
  return text;
}

/// Notes that are true of several nodes are there once.
std::string notes_text(const Report& report, const TextStyle& style) {
  if (style.quiet) return "";
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  std::map<std::string, std::size_t> places;  // A node can have thousands of notes.
  for (const NodeReport& node : report.nodes) {
    for (const std::string& note : notes_of(node, report.file)) {
      const auto [place, is_first] = places.emplace(note, notes.size());
      if (is_first) notes.emplace_back(note, std::vector<std::string>());
      notes[place->second].second.push_back(printable(node.name));
    }
  }
  std::string text;
  for (const auto& [note, names] : notes) {
    std::size_t indent = 2;
    for (const std::string& piece : broken("note: " + fold_names(names) + ": " + note, columns_of(style) - 6)) {
      text += std::string(indent, ' ') + paint(piece, Colour::kDim, style) + "\n";
      indent = 6;
    }
  }
  return text;
}

GroupedChanges changes_in(const Report& report, const TextStyle& style) {
  const bool outcome = report.carries_out();
  std::vector<std::string> names;
  std::vector<std::vector<ChangeText>> changes;
  for (const NodeReport& node : report.nodes) {
    names.push_back(printable(node.name));
    changes.push_back(changes_of(node, report.file, outcome, style));
    // A run that did not begin has no results.
    if (report.not_begun) std::erase_if(changes.back(), [](const ChangeText& text) { return text.symbol != '!'; });
  }
  return group_changes(names, std::move(changes), outcome, style);
}

}  // namespace

std::string error_text(const NodeReport& node) {
  Error error = *node.error;
  if (!error.context.empty() && (error.context.front() == node.name || error.context.front() == "node " + node.name))
    error.context.erase(error.context.begin());
  return printable(error.describe());
}

std::string node_errors_text(const Report& report, const TextStyle& style) {
  std::vector<NodeTrouble> troubles;
  for (const NodeReport& node : report.nodes) {
    if (!node.error) continue;
    const bool is_other = node.status != NodeStatus::kUnreachable && node.status != NodeStatus::kRefused;
    const std::string status(is_other ? "failed" : to_string(node.status));
    troubles.push_back(
        {printable(node.name), printable(node.address), status + ": " + error_text(node), printable(node.error->hint)});
  }
  std::string text;
  for (const SharedTrouble& one : shared_troubles(troubles)) {
    text += continued("! " + fold_names(one.nodes) + " " + one.words, 2, style);
    if (!one.hint.empty()) text += continued("    hint: " + one.hint, 4, style);
  }
  return text;
}

std::string to_text(const Report& report, const TextStyle& style) {
  const std::vector<NodeGroup> groups = groups_of(report, style);
  const auto behind = std::find_if(groups.begin(), groups.end(),
                                   [](const NodeGroup& group) { return group.place != Place::kBeforeChanges; });
  std::string text;
  for (auto group = groups.begin(); group != behind; ++group) text += text_of(*group, style);
  text += changes_text(changes_in(report, style), report.nodes.size(), style);
  text += notes_text(report, style);
  for (auto group = behind; group != groups.end(); ++group) text += text_of(*group, style);
  return text + verdict_text(report, style);
}

}  // namespace sparkplan
