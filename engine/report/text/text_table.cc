#include "engine/report/text/text_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNoteIndent = 4;
/// The last column is not broken into shorter lines than this.
constexpr std::size_t kNarrowest = 20;
/// A column is no wider: one long cell of a node would pad those of all other rows. What follows a longer cell comes on
/// the next line.
constexpr std::size_t kWidestColumn = 80;
/// The lines that continue a row begin here at the latest.
constexpr std::size_t kMostIndent = 120;

bool is_shown(const std::string& text) { return !text.empty() && text != "-"; }

const TextCell& cell_at(const TextRow& row, std::size_t column) {
  static const TextCell empty;
  return column < row.cells.size() ? row.cells[column] : empty;
}

std::vector<std::size_t> shown_columns(const TextTable& table) {
  std::size_t columns = table.header.size();
  for (const TextRow& row : table.rows) columns = std::max(columns, row.cells.size());
  std::vector<std::size_t> shown;
  for (std::size_t column = 0; column < columns; ++column) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(),
                                 [&](const TextRow& row) { return is_shown(cell_at(row, column).text); });
    if (any || column == 0) shown.push_back(column);
  }
  return shown;
}

/// The text in lines of at most `width` columns. They end behind a comma where they can.
std::vector<std::string> cell_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    const std::string_view clause = text.substr(0, std::min(comma + 1, text.size()));
    text.remove_prefix(std::min(comma + 2, text.size()));
    if (!line.empty() && text_width(line) + 1 + text_width(clause) <= width) {
      line.append(" ").append(clause);
      continue;
    }
    if (!line.empty()) lines.push_back(line);
    line.clear();
    for (std::string& piece : broken(clause, width)) {
      if (!line.empty()) lines.push_back(std::move(line));
      line = std::move(piece);
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

class TableWriter {
 public:
  TableWriter(const TextTable& table, std::size_t indent, const TextStyle& style)
      : table_(table), indent_(indent), style_(style), columns_(shown_columns(table)) {
    for (const std::size_t column : columns_) {
      std::size_t width = column < table.header.size() ? text_width(table.header[column]) : 0;
      for (const TextRow& row : table.rows) width = std::max(width, text_width(shown(cell_at(row, column).text)));
      widths_.push_back(std::min(width, kWidestColumn));
    }
    if (table.breaks_cells) make_narrow();
  }

  std::string text() const {
    TextRow header;
    for (const std::string& title : table_.header) header.cells.push_back({title, Colour::kDim});
    std::string text = header.cells.empty() ? "" : line_of(header);
    for (const TextRow& row : table_.rows) {
      text += line_of(row);
      for (const std::string& note : row.notes) text += wrapped(note, indent_ + kNoteIndent, style_);
    }
    return text;
  }

 private:
  static std::string shown(const std::string& text) { return text.empty() ? "-" : text; }

  /// The widest word in a column, which is never broken.
  std::size_t least_width(std::size_t column) const {
    std::size_t least = 0;
    const auto look_at = [&](const std::string& text) {
      for (const std::string_view word : split(text, ' ')) least = std::max(least, text_width(word));
    };
    if (column < table_.header.size()) look_at(table_.header[column]);
    for (const TextRow& row : table_.rows) look_at(cell_at(row, column).text);
    return least;
  }

  /// Takes from the widest columns until the table fits.
  void make_narrow() {
    std::vector<std::size_t> least;
    std::size_t width = indent_;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      least.push_back(least_width(columns_[at]));
      width += widths_[at] + (at > 0 ? kGap : 0);
    }
    for (; width > columns_of(style_); --width) {
      std::size_t widest = columns_.size();
      for (std::size_t at = 0; at < columns_.size(); ++at) {
        const bool may_shrink = widths_[at] > least[at];
        if (may_shrink && (widest == columns_.size() || widths_[at] > widths_[widest])) widest = at;
      }
      if (widest == columns_.size()) return;
      --widths_[widest];
    }
  }

  /// Each cell in its column, in as many lines as it needs.
  std::string broken_line_of(const TextRow& row) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      cells.push_back(cell_lines(shown(cell_at(row, columns_[at]).text), widths_[at]));
      height = std::max(height, cells.back().size());
    }
    std::string text;
    for (std::size_t line = 0; line < height; ++line) {
      std::size_t width = 0;
      std::size_t column = indent_;
      for (std::size_t at = 0; at < columns_.size(); ++at) {
        if (line < cells[at].size()) {
          const std::string& piece = cells[at][line];
          text += std::string(column - width, ' ') + paint(piece, cell_at(row, columns_[at]).colour, style_);
          width = column + text_width(piece);
        }
        column += widths_[at] + kGap;
      }
      text += "\n";
    }
    return text;
  }

  std::string line_of(const TextRow& row) const {
    if (table_.breaks_cells) return broken_line_of(row);
    std::string line(indent_, ' ');
    std::size_t width = indent_;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const TextCell& cell = cell_at(row, columns_[at]);
      const std::string text = shown(cell.text);
      if (at + 1 == columns_.size()) return line + last_cell({text, cell.colour}, width);
      line += paint(text, cell.colour, style_);
      width += widths_[at] + kGap;
      if (const std::size_t own = text_width(text); own <= widths_[at]) {
        line += std::string(widths_[at] - own + kGap, ' ');
      } else {
        width = std::min(width, kMostIndent);
        line += "\n" + std::string(width, ' ');
      }
    }
    return line + "\n";
  }

  /// Breaks the text between words; each line begins where the column begins.
  std::string last_cell(const TextCell& cell, std::size_t begin) const {
    const auto width = static_cast<std::size_t>(std::max(style_.width, 40));
    const std::size_t room = begin + kNarrowest < width ? width - begin : kNarrowest;
    std::vector<std::string> lines{""};
    for (const std::string_view word : split(cell.text, ' ')) {
      std::string& line = lines.back();
      if (!line.empty() && text_width(line) + 1 + text_width(word) > room) {
        lines.emplace_back(word);
      } else {
        line += (line.empty() ? "" : " ") + std::string(word);
      }
    }
    std::string text;
    for (const std::string& line : lines) {
      if (!text.empty()) text += std::string(std::min(begin, kMostIndent), ' ');
      text += paint(line, cell.colour, style_) + "\n";
    }
    return text;
  }

  const TextTable& table_;
  std::size_t indent_;
  const TextStyle& style_;
  std::vector<std::size_t> columns_;
  std::vector<std::size_t> widths_;  ///< Of the shown columns.
};

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  TextRow row;
  for (std::string& cell : cells) row.cells.push_back({std::move(cell), Colour::kNone});
  rows.push_back(std::move(row));
}

std::string table_text(const TextTable& table, std::size_t indent, const TextStyle& style) {
  return table.rows.empty() ? "" : TableWriter(table, indent, style).text();
}

}  // namespace sparkplan
