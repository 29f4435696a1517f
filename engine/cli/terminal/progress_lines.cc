#include "engine/cli/terminal/progress_lines.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

constexpr std::string_view kMargin = "  ";
constexpr std::string_view kGap = "  ";
constexpr std::size_t kLeastForDoing = 8;
// Texts up to this width do not move the times after them.
constexpr std::size_t kUsualDoing = 36;
constexpr std::size_t kMostNodesInALine = 4;

std::string elapsed(std::chrono::milliseconds since) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
  return std::to_string(seconds / 3600) + " h " + std::to_string(seconds / 60 % 60) + " min";
}

/// Empty in the first second: a quick step needs no clock. Also empty for nodes that are not working: a waiting node is
/// not the slow one.
std::string time_shown(const NodeProgress& node) {
  const bool shown = node.activity == Activity::kWorking && node.since >= std::chrono::seconds(1);
  return shown ? elapsed(node.since) : "";
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  constexpr std::string_view kEllipsis = "...";
  if (visible_width(text) <= columns) return std::string(text);
  if (columns <= kEllipsis.size()) return std::string(kEllipsis.substr(0, columns));
  std::size_t end = 0;
  while (true) {
    const auto next = end + code_point_at(text, end).length;
    if (visible_width(text.substr(0, next)) + kEllipsis.size() > columns) break;
    end = next;
  }
  return std::string(text.substr(0, end)).append(kEllipsis);
}

std::string padded(std::string text, std::size_t columns) {
  const auto width = visible_width(text);
  if (width < columns) text.append(columns - width, ' ');
  return text;
}

std::string painted(std::string line, Activity activity, bool color) {
  if (!color || activity == Activity::kWorking) return line;
  return (activity == Activity::kFailed ? "\033[31m" : "\033[2m") + line + "\033[0m";
}

struct Columns {
  std::size_t whole = 0;
  std::size_t node = 0;
  std::size_t doing = 0;
  std::size_t time = 0;
};

/// The name is shortened last: a line without a name is useless.
Columns columns_for(std::span<const NodeProgress> nodes, ScreenSize size) {
  Columns columns;
  // In the last column, some terminals start a new line at once, and others do not.
  columns.whole = static_cast<std::size_t>(std::max(size.columns - 1, 1));
  std::size_t widest_doing = kUsualDoing;
  for (const auto& node : nodes) {
    columns.node = std::max(columns.node, visible_width(node.node));
    columns.time = std::max(columns.time, visible_width(time_shown(node)));
    widest_doing = std::max(widest_doing, visible_width(node.doing));
  }
  const auto left_of = [&](std::size_t taken) { return columns.whole > taken ? columns.whole - taken : 0; };
  columns.node = std::min(columns.node, left_of(kMargin.size()));
  const auto before_doing = kMargin.size() + columns.node + kGap.size();
  const auto for_time = columns.time == 0 ? 0 : kGap.size() + columns.time;
  if (left_of(before_doing + for_time) < kLeastForDoing) columns.time = 0;
  columns.doing = std::min(widest_doing, left_of(before_doing + (columns.time == 0 ? 0 : for_time)));
  return columns;
}

std::string line_of(const NodeProgress& node, const Columns& columns, bool color) {
  const std::string_view margin = node.activity == Activity::kFailed ? "! " : kMargin;
  std::string line(margin);
  line += padded(cut_to_columns(node.node, columns.node), columns.node);
  const auto time = columns.time == 0 ? "" : time_shown(node);
  auto doing = cut_to_columns(node.doing, columns.doing);
  if (!time.empty()) doing = padded(std::move(doing), columns.doing).append(kGap).append(time);
  if (!doing.empty()) line.append(kGap).append(doing);
  return painted(cut_to_columns(line, columns.whole), node.activity, color);
}

/// Selects the nodes to show if there is room for only `count` lines: one line per node, in the original order.
std::vector<NodeProgress> most_telling(std::span<const NodeProgress> nodes, std::size_t count) {
  std::vector<NodeProgress> chosen;
  std::vector<bool> is_in(nodes.size());
  std::size_t taken = 0;
  for (const auto activity : {Activity::kWorking, Activity::kFailed, Activity::kWaiting}) {
    for (std::size_t i = 0; i < nodes.size() && taken < count; ++i) {
      if (nodes[i].activity != activity) continue;
      is_in[i] = true;
      ++taken;
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_in[i]) chosen.push_back(nodes[i]);
  }
  return chosen;
}

/// "3 at work, 8 waiting, 1 failed"
std::string counts(std::span<const NodeProgress> nodes) {
  constexpr std::array<std::pair<Activity, std::string_view>, 3> kKinds{
      {{Activity::kWorking, "at work"}, {Activity::kWaiting, "waiting"}, {Activity::kFailed, "failed"}}};
  std::string text;
  for (const auto& [activity, words] : kKinds) {
    const auto count = std::count_if(nodes.begin(), nodes.end(),
                                     [kind = activity](const NodeProgress& node) { return node.activity == kind; });
    if (count > 0) text.append(text.empty() ? "" : ", ").append(std::to_string(count) + " ").append(words);
  }
  return text;
}

}  // namespace

std::vector<std::string> progress_lines(std::span<const NodeProgress> nodes, ScreenSize size, bool color) {
  // The cursor is below the last line.
  const auto room = static_cast<std::size_t>(std::max(size.rows - 1, 1));
  const auto columns = columns_for(nodes, size);
  std::vector<std::string> lines;
  if (nodes.size() <= room) {
    for (const auto& node : nodes) lines.push_back(line_of(node, columns, color));
    return lines;
  }
  for (const auto& node : most_telling(nodes, room - 1)) lines.push_back(line_of(node, columns, color));
  lines.push_back(
      cut_to_columns(std::string(kMargin) + std::to_string(nodes.size()) + " nodes: " + counts(nodes), columns.whole));
  return lines;
}

std::string sign_of_life(std::span<const NodeProgress> nodes) {
  std::string text;
  std::size_t working = 0;
  for (const auto& node : nodes) {
    if (node.activity != Activity::kWorking || ++working > kMostNodesInALine) continue;
    text += (text.empty() ? " " : ", ") + node.node + " (" + node.doing + ", " + elapsed(node.since) + ")";
  }
  if (working > kMostNodesInALine) text += " and " + std::to_string(working - kMostNodesInALine) + " more";
  return "still working:" + (working == 0 ? " " + counts(nodes) : text);
}

}  // namespace sparkplan
