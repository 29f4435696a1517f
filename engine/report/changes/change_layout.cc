#include "engine/report/changes/change_layout.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// For names beyond this column, the value starts after the name.
constexpr std::size_t kWidestName = 52;
/// The longest type has about 20 letters. A longer one is a node's word, and would pad all other lines.
constexpr std::size_t kWidestType = 40;
constexpr std::size_t kSymbol = 4;  // The columns of "  + ".
constexpr std::size_t kBody = 6;
constexpr std::size_t kColumnGap = 2;
constexpr std::size_t kWidestCell = 40;

struct Columns {
  std::size_t name = 0;
  std::size_t value = 0;
  std::size_t nodes = 0;
};

std::string nodes_text(const ChangeGroup& group, std::size_t all_nodes) {
  std::string names = fold_names(group.nodes);
  const bool all = group.nodes.size() == all_nodes && all_nodes > 1;
  return all && text_width(names) > kWidestNodes ? "all " + counted(all_nodes, "node") : names;
}

/// The fields and the marks, in the order of the line.
std::vector<Part> parts_of(const ChangeText& text) {
  std::vector<Part> parts;
  for (const FieldText& field : text.fields) {
    const bool both = !field.label.empty() && !field.text.empty();
    std::string words = field.label + (both ? " " : "") + field.text;
    if (words.empty()) continue;
    if (!parts.empty()) parts.back().text += ",";
    parts.push_back({std::move(words), Colour::kNone, parts.empty() ? kColumnGap : 1});
  }
  parts.insert(parts.end(), text.marks.begin(), text.marks.end());
  return parts;
}

std::string padding(std::size_t width) { return std::string(width, ' '); }

/// Symbol, type and name.
FlowingLine begin_line(const ChangeText& text, const Columns& columns, const TextStyle& style) {
  const std::size_t room = columns_of(style) - std::min(columns_of(style), columns.name);
  const std::string name = style.verbose ? text.name : shortened(text.name, room);
  const std::string type = shortened(text.type, kWidestType);
  std::string begin = "  " + paint(std::string(1, text.symbol), colour_of_symbol(text.symbol), style) + " " + type +
                      padding(columns.name - kSymbol - text_width(type)) + name;
  return {std::move(begin), columns.name + text_width(name), columns.value, style};
}

/// The column after the widest line that has room for its nodes.
std::size_t column_of_nodes(const std::vector<ChangeGroup>& groups, std::size_t all_nodes, const Columns& columns,
                            const TextStyle& style) {
  std::size_t column = 0;
  for (const ChangeGroup& group : groups) {
    FlowingLine line = begin_line(group.text, columns, style);
    for (const Part& part : parts_of(group.text)) line.add(part);
    const std::size_t begin = line.width() + kColumnGap;
    const bool fits = line.one_line() && begin + text_width(nodes_text(group, all_nodes)) <= columns_of(style);
    if (fits) column = std::max(column, begin);
  }
  return column;
}

Columns columns_for(const std::vector<ChangeGroup>& groups, std::size_t all_nodes, const TextStyle& style) {
  Columns columns;
  for (const ChangeGroup& group : groups)
    columns.name = std::max(columns.name, kSymbol + std::min(text_width(group.text.type), kWidestType) + kColumnGap);
  for (const ChangeGroup& group : groups) {
    const std::size_t end = columns.name + text_width(group.text.name) + kColumnGap;
    const bool has_value = !group.text.fields.empty() || !group.text.marks.empty();
    if (has_value && end <= kWidestName) columns.value = std::max(columns.value, end);
  }
  columns.value = std::max(columns.value, columns.name);
  columns.nodes = column_of_nodes(groups, all_nodes, columns, style);
  return columns;
}

std::string body_text(const BodyLine& line, const TextStyle& style) {
  if (line.verbatim) return padding(kBody) + paint(line.part.text, line.part.colour, style) + "\n";
  std::string text;
  for (const std::string& piece : broken(line.part.text, columns_of(style) - kBody))
    text += padding(kBody) + paint(piece, line.part.colour, style) + "\n";
  return text;
}

std::string group_text(const ChangeGroup& group, std::size_t all_nodes, const Columns& columns,
                       const TextStyle& style) {
  FlowingLine line = begin_line(group.text, columns, style);
  const std::string nodes = nodes_text(group, all_nodes);
  const auto parts = parts_of(group.text);
  for (const Part& part : parts) {
    // The nodes stay with the last part, which in results is the outcome.
    if (&part == &parts.back()) line.keep_together(part.gap + text_width(part.text) + kColumnGap + text_width(nodes));
    line.add(part);
  }
  line.add_at({nodes, Colour::kBold}, columns.nodes);
  std::string text = std::move(line).text();
  for (const BodyLine& below : group.text.body) text += body_text(below, style);
  return text;
}

/// The table, in blocks of columns that fit side by side.
class NodeTableWriter {
 public:
  NodeTableWriter(const NodeTable& table, const std::vector<std::string>& nodes, const TextStyle& style)
      : table_(table), nodes_(nodes), style_(style) {
    for (const std::string& node : nodes) first_ = std::max(first_, kSymbol + text_width(node) + kColumnGap);
  }

  std::string write() const {
    std::string text;
    for (std::size_t from = 0; from < table_.columns.size();) {
      std::size_t to = from + 1;
      std::size_t width = first_ + width_of(from);
      while (to < table_.columns.size() && width + kColumnGap + width_of(to) <= columns_of(style_))
        width += kColumnGap + width_of(to++);
      text += block(from, to);
      from = to;
    }
    return text;
  }

 private:
  std::size_t widest_cell() const {
    const std::size_t room = columns_of(style_) > first_ ? columns_of(style_) - first_ : 0;
    return std::max<std::size_t>(std::min(kWidestCell, room), 8);
  }

  std::string cell(const std::string& text) const { return shortened(text, widest_cell()); }

  std::size_t width_of(std::size_t at) const {
    const NodeTable::Column& column = table_.columns[at];
    std::size_t width = std::max(text_width(cell(column.name)), text_width(cell(column.label)));
    for (const auto& [node, text] : column.cells) width = std::max(width, text_width(cell(text)));
    return width;
  }

  template <class CellText>
  std::string row(const std::string& title, std::size_t from, std::size_t to, Colour colour, CellText text_of) const {
    std::string text = title;
    std::size_t width = text_width(title);
    std::size_t column = first_;
    for (std::size_t at = from; at < to; ++at) {
      const std::string content = cell(text_of(table_.columns[at]));
      if (!content.empty()) {
        text += padding(column - width) + paint(content, colour, style_);
        width = column + text_width(content);
      }
      column += width_of(at) + kColumnGap;
    }
    return text + "\n";
  }

  std::string block(std::size_t from, std::size_t to) const {
    std::string text = row("  per node", from, to, Colour::kBold, [](const auto& column) { return column.name; });
    const bool labelled = std::any_of(table_.columns.begin() + static_cast<std::ptrdiff_t>(from),
                                      table_.columns.begin() + static_cast<std::ptrdiff_t>(to),
                                      [](const auto& column) { return !column.label.empty(); });
    if (labelled) text += row("", from, to, Colour::kNone, [](const auto& column) { return column.label; });
    for (const std::string& node : nodes_) {
      text += row(padding(kSymbol) + node, from, to, Colour::kNone, [&](const auto& column) {
        const auto found = column.cells.find(node);
        return found == column.cells.end() ? std::string() : found->second;
      });
    }
    return text;
  }

  const NodeTable& table_;
  const std::vector<std::string>& nodes_;
  const TextStyle& style_;
  std::size_t first_ = 12;  // The columns of "  per node  ".
};

/// The nodes that have a row, in the order of the groups.
std::vector<std::string> nodes_of_table(const GroupedChanges& changes) {
  std::set<std::string> in_table;
  for (const auto& column : changes.table.columns) {
    for (const auto& [node, text] : column.cells) in_table.insert(node);
  }
  std::vector<std::string> nodes;
  for (const ChangeGroup& group : changes.groups) {
    for (const std::string& node : group.nodes) {
      if (in_table.erase(node) > 0) nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace

std::string changes_text(const GroupedChanges& changes, std::size_t all_nodes, const TextStyle& style) {
  const Columns columns = columns_for(changes.groups, all_nodes, style);
  std::string text;
  for (const ChangeGroup& group : changes.groups) text += group_text(group, all_nodes, columns, style);
  if (changes.table.columns.empty()) return text;
  return text + NodeTableWriter(changes.table, nodes_of_table(changes), style).write();
}

}  // namespace sparkplan
