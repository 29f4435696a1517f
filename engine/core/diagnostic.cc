#include "engine/core/diagnostic.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

constexpr std::size_t kTabStop = 8;

struct Span {
  char32_t first;
  char32_t last;
};

// Rough on purpose: enough for carets under names in East Asian scripts and emoji.
// Source: Unicode Standard Annex 11, the ranges that terminals draw two cells wide.
constexpr std::array kWide{Span{0x1100, 0x115F},   Span{0x2E80, 0x303E},   Span{0x3041, 0xA4CF},
                           Span{0xAC00, 0xD7A3},   Span{0xF900, 0xFAFF},   Span{0xFE30, 0xFE6F},
                           Span{0xFF00, 0xFF60},   Span{0xFFE0, 0xFFE6},   Span{0x1F300, 0x1F64F},
                           Span{0x1F680, 0x1F6FF}, Span{0x1F900, 0x1F9FF}, Span{0x20000, 0x3FFFD}};
constexpr std::array kCombining{Span{0x0300, 0x036F}, Span{0x20D0, 0x20FF}};

template <std::size_t kCount>
bool is_in(const std::array<Span, kCount>& spans, char32_t c) {
  return std::any_of(spans.begin(), spans.end(), [c](const Span& span) { return c >= span.first && c <= span.last; });
}

// One code point of the source as it is printed.
struct Cell {
  std::string text;
  std::size_t width = 1;
};

std::vector<Cell> cells_of(std::string_view line) {
  std::vector<Cell> cells;
  std::size_t place = 0;
  for (std::size_t i = 0; i < line.size();) {
    const CodePoint point = code_point_at(line, i);
    const std::string_view bytes = line.substr(i, point.length);
    Cell cell;
    if (point.value == U'\t') {
      cell.width = kTabStop - place % kTabStop;
      cell.text.assign(cell.width, ' ');
    } else {
      cell.text = printable(bytes);
      if (is_treacherous(point.value)) {
        cell.width = cell.text.size();  // Replacements such as "<U+202E>" are ASCII, so their width is their length.
      } else if (is_in(kWide, point.value)) {
        cell.width = 2;
      } else if (is_in(kCombining, point.value)) {
        cell.width = 0;
      }
    }
    place += cell.width;
    cells.push_back(std::move(cell));
    i += point.length;
  }
  return cells;
}

std::string_view line_of(std::string_view source, int number) {
  for (int i = 1; i < number && !source.empty(); ++i) take_line(source);
  auto line = take_line(source);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::size_t from_one(int column) { return column > 0 ? static_cast<std::size_t>(column - 1) : 0; }

// Counts as columns do: every byte except UTF-8 continuation bytes.
std::size_t characters_in(std::string_view line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The number of bytes of the first `count` characters of `line`, or of the whole line if it is shorter.
std::size_t bytes_of(std::string_view line, std::size_t count) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80 && count-- == 0) return i;
  }
  return line.size();
}

// The printed part of a line, and which of its cells are marked.
struct Excerpt {
  std::vector<Cell> cells;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool cut_before = false;
  bool cut_behind = false;
};

// Cells may be wide. The caret stays in the part that is left.
void narrow(Excerpt& excerpt, std::size_t columns) {
  std::size_t width = 0;
  for (const Cell& cell : excerpt.cells) width += cell.width;
  auto first = excerpt.cells.begin();
  auto last = excerpt.cells.end();
  while (width > columns && last - first > 1) {
    const bool from_front = excerpt.begin > static_cast<std::size_t>(last - first) / 2;
    width -= from_front ? first->width : (last - 1)->width;
    if (!from_front) {
      --last;
      excerpt.cut_behind = true;
      continue;
    }
    ++first;
    --excerpt.begin;
    --excerpt.end;
    excerpt.cut_before = true;
  }
  excerpt.cells = std::vector<Cell>(first, last);
  excerpt.end = std::min(excerpt.end, excerpt.cells.size());
}

// Cells are built only for the printed part: a file may have a thousand findings in one line of a megabyte.
Excerpt excerpt_of(std::string_view line, SourceRange where, std::size_t columns) {
  const std::size_t length = characters_in(line);
  const std::size_t begin = std::min(from_one(where.column), length);
  const std::size_t end = std::clamp(from_one(where.end_column), begin, length);
  const std::size_t from = length > columns && begin > columns / 2 ? begin - columns / 2 : 0;
  line.remove_prefix(bytes_of(line, from));
  Excerpt excerpt;
  excerpt.cells = cells_of(line.substr(0, bytes_of(line, columns)));
  excerpt.begin = begin - from;
  excerpt.end = std::min(end - from, excerpt.cells.size());
  excerpt.cut_before = from > 0;
  excerpt.cut_behind = length > from + columns;
  narrow(excerpt, columns);
  return excerpt;
}

// The source line with its number, and the caret range below. Empty without the source.
std::string snippet(SourceRange where, std::string_view source, std::size_t columns) {
  if (!where.known() || source.empty()) return {};
  const Excerpt excerpt = excerpt_of(line_of(source, where.line), where, columns);
  std::string text = excerpt.cut_before ? "..." : "";
  std::string marks(text.size(), ' ');
  for (std::size_t i = 0; i < excerpt.cells.size(); ++i) {
    text += excerpt.cells[i].text;
    if (i < excerpt.begin) marks.append(excerpt.cells[i].width, ' ');
    if (i >= excerpt.begin && i < excerpt.end) marks.append(excerpt.cells[i].width, '~');
  }
  if (excerpt.cut_behind) text += "...";
  const std::size_t caret = marks.find('~');
  if (caret == std::string::npos) {
    marks += '^';
  } else {
    marks[caret] = '^';
  }
  std::string number = std::to_string(where.line);
  number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
  return number + " | " + text + "\n" + std::string(number.size(), ' ') + " | " + marks + "\n";
}

// "cluster.yaml:12:5: ", or the known parts of it.
std::string place(const std::string& file, SourceRange where) {
  if (file.empty()) return {};
  std::string text = printable(file);
  if (where.known()) text += ":" + std::to_string(where.line) + ":" + std::to_string(std::max(where.column, 1));
  return text + ": ";
}

}  // namespace

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kError; });
}

std::string render(const Diagnostic& diagnostic, std::string_view source, std::size_t quoted) {
  std::string text = place(diagnostic.file, diagnostic.where);
  text += std::string(to_string(diagnostic.severity)) + ": ";
  if (!diagnostic.node.empty()) text += printable(diagnostic.node) + ": ";
  text += printable(diagnostic.message) + "\n" + snippet(diagnostic.where, source, quoted);
  if (!diagnostic.hint.empty()) text += "  hint: " + printable(diagnostic.hint) + "\n";
  for (const auto& note : diagnostic.notes) {
    text += place(diagnostic.file, note.where) + "note: " + printable(note.message) + "\n" +
            snippet(note.where, source, quoted);
  }
  return text;
}

Diagnostic finding(Severity severity, std::string code, std::string message, std::string hint, SourceRange where) {
  return {severity, std::move(code), std::move(message), std::move(hint), {}, where, {}, {}};
}

Diagnostic finding(std::string code, std::string message, std::string hint, SourceRange where) {
  return finding(Severity::kError, std::move(code), std::move(message), std::move(hint), where);
}

}  // namespace sparkplan
