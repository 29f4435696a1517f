#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/report/text/text_style.h"

namespace sparkplan {

struct TextCell {
  std::string text;
  Colour colour = Colour::kNone;
};

struct TextRow {
  std::vector<TextCell> cells;
  std::vector<std::string> notes = {};  ///< Sentences below the row.
};

/// Rows with columns. All texts have passed printable().
struct TextTable {
  std::vector<std::string> header;  ///< Empty: no header is printed.
  std::vector<TextRow> rows;
  /// If the table is too wide, the widest columns become narrower, and their cells take several lines.
  bool breaks_cells = false;

  /// Adds a row of cells without a colour. An empty cell is shown as "-".
  void add(std::vector<std::string> cells);
};

/// Pure. Each column is as wide as its longest cell, but at most 80: what follows a longer cell comes on the next line.
/// The last column continues on the next line if it is too long for `style.width`. With `breaks_cells` no line is wider
/// than `style.width`, unless the longest words of the columns are. Columns that are empty in all rows are left out.
/// Empty without rows.
std::string table_text(const TextTable& table, std::size_t indent, const TextStyle& style);

}  // namespace sparkplan
