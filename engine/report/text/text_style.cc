#include "engine/report/text/text_style.h"

#include <algorithm>
#include <map>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::size_t kLeastWidth = 8;  // Less shows nothing beside the "...".

/// The bytes of the first `count` code points.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_code_point(text[i]) && count-- == 0) return i;
  }
  return text.size();
}

/// At most `limit` columns of the text, from the column `from` on; "..." stands for what is cut off.
std::string window(std::string_view text, std::size_t from, std::size_t limit) {
  std::string result;
  if (from > 0) {
    text.remove_prefix(bytes_of(text, from));
    result = kEllipsis;
    limit -= kEllipsis.size();
  }
  if (text_width(text) <= limit) return result.append(text);
  return result.append(text.substr(0, bytes_of(text, limit - kEllipsis.size()))).append(kEllipsis);
}

}  // namespace

bool starts_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string paint(std::string_view text, Colour colour, const TextStyle& style) {
  static const std::map<Colour, std::string_view> kCodes = {{Colour::kRed, "31"},
                                                            {Colour::kGreen, "32"},
                                                            {Colour::kYellow, "33"},
                                                            {Colour::kMagenta, "35"},
                                                            {Colour::kDim, "2"},
                                                            {Colour::kBold, "1"},
                                                            {Colour::kShade0, "48;5;24;38;5;255"},
                                                            {Colour::kShade1, "48;5;60;38;5;255"},
                                                            {Colour::kShade2, "48;5;94;38;5;255"},
                                                            {Colour::kShade3, "48;5;130;38;5;231"},
                                                            {Colour::kShade4, "48;5;214;38;5;16"}};
  const auto code = kCodes.find(colour);
  if (!style.color || code == kCodes.end()) return std::string(text);
  return "\x1b[" + std::string(code->second) + "m" + std::string(text) + "\x1b[0m";
}

Colour colour_of_symbol(char symbol) {
  switch (symbol) {
    case '+':
      return Colour::kGreen;
    case '~':
      return Colour::kYellow;
    case '-':
    case '!':
      return Colour::kRed;
    case '=':
      return Colour::kDim;
    default:
      return Colour::kNone;
  }
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string counted(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::size_t columns_of(const TextStyle& style) { return static_cast<std::size_t>(std::max(style.width, 40)); }

std::string wrapped(const std::string& text, std::size_t indent, const TextStyle& style) {
  const auto width = columns_of(style);
  std::string all;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) all += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && indent + text_width(line) + 1 + text_width(word) > width) end_line();
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return all;
}

std::vector<std::string> broken(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) lines.push_back(std::move(line));
    line.clear();
  };
  // Reads each word once and keeps no list of words: with -v, a node's value can have megabytes.
  for (bool more = true; more;) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, blank);
    more = blank < text.size();
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) end_line();
    for (auto end = bytes_of(word, width); end < word.size(); end = bytes_of(word, width)) {
      lines.emplace_back(word.substr(0, end));
      word.remove_prefix(end);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return lines;
}

std::string continued(std::string_view line, std::size_t column, const TextStyle& style) {
  if (text_width(line) <= columns_of(style)) return std::string(line) + "\n";
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  column = std::min(column, columns_of(style) / 2);
  const std::size_t width = columns_of(style) - std::min(std::max(indent, column), columns_of(style) / 2);
  std::string text;
  std::string begin(indent, ' ');
  for (const std::string& piece : broken(line.substr(indent), width)) {
    text.append(begin).append(piece).append("\n");
    begin.assign(column, ' ');
  }
  return text;
}

std::string shortened(std::string_view text, std::size_t limit) {
  limit = std::max(limit, kLeastWidth);
  const std::size_t width = text_width(text);
  if (width <= limit) return std::string(text);
  const std::size_t head = (limit - kEllipsis.size() + 1) / 2;
  const std::size_t tail = limit - kEllipsis.size() - head;
  std::string result(text.substr(0, bytes_of(text, head)));
  return result.append(kEllipsis).append(text.substr(bytes_of(text, width - tail)));
}

std::pair<std::string, std::string> cut_where_they_differ(const std::string& a, const std::string& b,
                                                          std::size_t limit) {
  const std::size_t longest = std::max(text_width(a), text_width(b));
  if (longest <= limit) return {a, b};
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const std::size_t same = text_width(std::string_view(a).substr(0, static_cast<std::size_t>(ends.first - a.begin())));
  // A third of the line is context. At the end of the text there is no reason to leave room.
  const std::size_t from = std::min(same > limit / 3 ? same - limit / 3 : 0, longest - limit + kEllipsis.size());
  return {window(a, same <= limit / 3 ? 0 : from, limit), window(b, same <= limit / 3 ? 0 : from, limit)};
}

FlowingLine::FlowingLine(std::string begin, std::size_t width, std::size_t column, const TextStyle& style)
    : text_(std::move(begin)), width_(width), column_(std::min(column, columns_of(style) / 2)), style_(style) {}

void FlowingLine::place(std::size_t column, const Part& part) {
  text_ += std::string(column - width_, ' ') + paint(part.text, part.colour, style_);
  width_ = column + text_width(part.text);
}

void FlowingLine::add(const Part& part) { add_at(part, column_); }

void FlowingLine::add_words(std::string_view text, Colour colour, std::size_t gap) {
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    add({std::string(word), colour, gap});
    gap = 1;
  }
}

void FlowingLine::keep_together(std::size_t columns) {
  const std::size_t limit = columns_of(style_);
  if (width_ + columns > limit && column_ + columns <= limit && width_ > column_) next_line();
}

void FlowingLine::add_at(const Part& part, std::size_t column) {
  const std::size_t limit = columns_of(style_);
  const std::size_t length = text_width(part.text);
  if (length == 0) return;
  const std::size_t aligned = length < limit ? std::max(column_, std::min(column, limit - length)) : column_;
  const std::size_t begin = std::max(aligned, width_ + part.gap);
  if (begin + length <= limit) return place(begin, part);
  next_line();
  if (aligned + length <= limit) return place(aligned, part);
  bool first = true;
  for (std::string& piece : broken(part.text, limit - column_)) {
    if (!first) next_line();
    first = false;
    place(column_, {std::move(piece), part.colour});
  }
}

}  // namespace sparkplan
