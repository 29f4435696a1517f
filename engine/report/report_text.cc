#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/report/change_text.h"
#include "engine/report/report.h"

namespace sparkplan {
namespace {

/// For names beyond this column, the value starts after the name.
constexpr std::size_t kWidestLabelColumn = 52;
constexpr std::size_t kMostAddresses = 3;

/// The order in which groups of nodes are shown.
enum class Rank : std::uint8_t { kChanges, kTrouble, kSkipped, kInSync };

/// Nodes with equal text.
struct NodeGroup {
  Rank rank = Rank::kInSync;
  char symbol = '=';
  std::string title;  ///< After the names: "in sync", "unreachable: no route to host".
  std::string hint;
  std::vector<TextLine> lines;
  std::size_t fingerprint = 0;  ///< Of the lines: in a large cluster, nearly all groups differ.
  std::vector<std::string> names;
  std::vector<std::string> addresses;

  bool says_the_same_as(const NodeGroup& other) const {
    return fingerprint == other.fingerprint && rank == other.rank && symbol == other.symbol && title == other.title &&
           hint == other.hint && lines == other.lines;
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
    case NodeStatus::kInSync:
      return "in sync";
    default:
      return "";
  }
}

std::string title_of(const NodeReport& node) {
  std::string title = status_words(node);
  const auto add = [&](std::string_view words) { title += (title.empty() ? "" : ", ") + std::string(words); };
  if (node.membership == Membership::kJoining && node.status != NodeStatus::kApplied) add("joining the cluster");
  if (node.membership == Membership::kLeaving && node.status != NodeStatus::kReleased) add("leaving the cluster");
  if (node.not_contacted && !node.error) add("not contacted: `apply --yes-prune` gives it back");
  if (node.error) title += (title.empty() ? "" : ": ") + error_text(node);
  return title;
}

char symbol_of(const NodeReport& node) {
  if (in_trouble(node.status) || node.error) return '!';
  if (node.status == NodeStatus::kReleased || node.membership == Membership::kLeaving) return '-';
  if (node.status == NodeStatus::kSkipped) return ' ';
  if (node.membership == Membership::kJoining) return '+';
  return node.status == NodeStatus::kInSync ? '=' : '~';
}

std::size_t fingerprint_of(const std::vector<TextLine>& lines) {
  std::size_t all = lines.size();
  for (const TextLine& line : lines) {
    for (const std::string* text : {&line.type, &line.label, &line.text}) {
      all = all * 31 + std::hash<std::string>()(*text);
    }
  }
  return all;
}

NodeGroup group_of(const NodeReport& node, const Report& report, const TextStyle& style) {
  NodeGroup group;
  group.symbol = symbol_of(node);
  group.title = title_of(node);
  if (node.error) group.hint = printable(node.error->hint);
  group.lines = lines_of(node, report.file, style);
  group.fingerprint = fingerprint_of(group.lines);
  group.names.push_back(printable(node.name));
  if (!node.address.empty()) group.addresses.push_back(printable(node.address));
  const auto& changes = node.plan.changes;
  if (!std::all_of(changes.begin(), changes.end(), [](const Change& one) { return one.is_harmless(); })) {
    group.rank = Rank::kChanges;
  } else if (group.symbol == '!') {
    group.rank = Rank::kTrouble;
  } else if (node.status == NodeStatus::kSkipped) {
    group.rank = Rank::kSkipped;
  } else {
    group.rank = group.symbol == '=' ? Rank::kInSync : Rank::kChanges;
  }
  return group;
}

bool is_shown(const NodeGroup& group, const TextStyle& style) {
  if (group.rank == Rank::kSkipped) return !style.quiet;
  if (group.rank == Rank::kInSync) return !style.quiet && style.show_in_sync;
  return true;
}

/// Groups nodes by their text: two nodes share a block only if all of it is true of both.
std::vector<NodeGroup> groups_of(const Report& report, const TextStyle& style) {
  std::vector<NodeGroup> groups;
  for (const NodeReport& node : report.nodes) {
    NodeGroup group = group_of(node, report, style);
    if (!is_shown(group, style)) continue;
    const auto twin =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.says_the_same_as(group); });
    if (twin == groups.end()) {
      groups.push_back(std::move(group));
      continue;
    }
    twin->names.insert(twin->names.end(), group.names.begin(), group.names.end());
    twin->addresses.insert(twin->addresses.end(), group.addresses.begin(), group.addresses.end());
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return groups;
}

/// The column widths that align names and values in the whole output.
struct Columns {
  std::size_t type = 0;
  std::size_t value = 0;

  explicit Columns(const std::vector<NodeGroup>& groups) {
    for (const NodeGroup& group : groups)
      for (const TextLine& line : group.lines) type = std::max(type, text_width(line.type));
    for (const NodeGroup& group : groups) {
      for (const TextLine& line : group.lines) {
        if (line.kind == TextLine::Kind::kRaw || line.text.empty()) continue;
        const std::size_t end = begin_of_label(line) + text_width(line.label) + 2;
        if (end <= kWidestLabelColumn) value = std::max(value, end);
      }
    }
  }

  std::size_t begin_of_label(const TextLine& line) const {
    return line.kind == TextLine::Kind::kHead ? 4 + type + 2 : 6;
  }
};

std::string padding(std::size_t width) { return std::string(width, ' '); }

std::string line_text(const TextLine& line, const Columns& columns, const TextStyle& style) {
  if (line.kind == TextLine::Kind::kRaw) return line.text;
  std::string text;
  if (line.kind == TextLine::Kind::kHead) {
    text = "  " + paint(std::string(1, line.symbol), colour_of_symbol(line.symbol), style) + " " + line.type +
           padding(columns.type - text_width(line.type) + 2) + line.label;
  } else {
    text = padding(6) + line.label;
  }
  if (line.text.empty()) return text;
  const std::size_t end = columns.begin_of_label(line) + text_width(line.label);
  return text + padding(end + 2 <= columns.value ? columns.value - end : 2) + line.text;
}

std::string header_text(const NodeGroup& group, const TextStyle& style) {
  std::string text = paint(std::string(1, group.symbol), colour_of_symbol(group.symbol), style) + " " +
                     paint(fold_names(group.names), Colour::kBold, style);
  const bool named_only = group.rank == Rank::kInSync || group.rank == Rank::kSkipped;
  if (!group.addresses.empty() && !named_only) {
    const bool few = group.addresses.size() <= kMostAddresses;
    text += " (" + (few ? join(group.addresses, ", ") : fold_names(group.addresses)) + ")";
  }
  if (group.title.empty()) return text;
  return text + " " + (group.symbol == '!' ? paint(group.title, Colour::kRed, style) : group.title);
}

}  // namespace

std::string error_text(const NodeReport& node) {
  Error error = *node.error;
  if (!error.context.empty() && (error.context.front() == node.name || error.context.front() == "node " + node.name))
    error.context.erase(error.context.begin());
  return printable(error.describe());
}

std::string to_text(const Report& report, const TextStyle& style) {
  const std::vector<NodeGroup> groups = groups_of(report, style);
  const Columns columns(groups);
  std::string text;
  for (const NodeGroup& group : groups) {
    text += header_text(group, style) + "\n";
    if (!group.hint.empty()) text += "    hint: " + group.hint + "\n";
    for (const TextLine& line : group.lines) text += line_text(line, columns, style) + "\n";
  }
  return text + summary_line(report) + "\n";
}

}  // namespace sparkplan
