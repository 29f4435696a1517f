#include "engine/load/yaml_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/core/ascii.h"
#include "engine/core/number_format.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

constexpr auto kNowhere = std::string_view::npos;
constexpr std::size_t kMostByteFindings = 20;
constexpr std::size_t kStride = 128;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

// [0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)? or \.[0-9]+(...)?: from_chars alone would take "inf" and "nan".
bool is_decimal_fraction(std::string_view text) {
  text = without_sign(text);
  const auto exponent = text.find_first_of("eE");
  if (exponent != kNowhere && !all_digits(without_sign(text.substr(exponent + 1)))) return false;
  const auto mantissa = text.substr(0, exponent);
  const auto point = mantissa.find('.');
  if (point == kNowhere) return exponent != kNowhere && all_digits(mantissa);
  const auto whole = mantissa.substr(0, point);
  const auto fraction = mantissa.substr(point + 1);
  if (whole.empty()) return all_digits(fraction);
  return all_digits(whole) && (fraction.empty() || all_digits(fraction));
}

// The end of a quoted scalar on its first line, one past the closing quote.
std::size_t quoted_end(std::string_view text, std::size_t begin, std::size_t line_end) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < line_end; ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < line_end && text[i + 1] == '\'') {
        ++i;
      } else {
        return i + 1;
      }
    }
  }
  return line_end;
}

std::string code_point_name(char32_t c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name = "U+";
  for (int shift = c > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) name += kDigits[(c >> shift) & 0xF];
  return name;
}

}  // namespace

YamlText::YamlText(std::string_view text) : text_(text), line_starts_{0} {
  characters_.reserve(text.size() / kStride + 1);
  std::uint32_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % kStride == 0) characters_.push_back(characters);
    if (text[i] == '\n') line_starts_.push_back(i + 1);
    if (begins_character(text[i])) ++characters;
  }
  if (text.size() % kStride == 0) characters_.push_back(characters);
}

std::size_t YamlText::characters_before(std::size_t offset) const {
  const std::size_t sample = offset / kStride;
  const std::string_view rest = text_.substr(sample * kStride, offset % kStride);
  return characters_[sample] + static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), begins_character));
}

std::size_t YamlText::line_index(std::size_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<std::size_t>(after - line_starts_.begin()) - 1;
}

std::string_view YamlText::line_of(std::size_t offset) const {
  const std::size_t index = line_index(std::min(offset, text_.size()));
  const std::size_t begin = line_starts_[index];
  std::size_t end = index + 1 < line_starts_.size() ? line_starts_[index + 1] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return text_.substr(begin, end - begin);
}

SourceRange YamlText::range(std::size_t begin, std::size_t end) const {
  // No editor shows the line after a final newline.
  begin = std::min(begin, text_.size());
  if (begin == text_.size()) {
    while (begin > 0 && (text_[begin - 1] == '\n' || text_[begin - 1] == '\r')) --begin;
  }
  const std::size_t index = line_index(begin);
  const std::size_t line_begin = line_starts_[index];
  const std::size_t line_end = line_begin + line_of(begin).size();
  begin = std::min(begin, line_end);
  end = std::clamp(end, begin, line_end);
  const auto columns = [&](std::size_t from, std::size_t to) {
    return static_cast<int>(characters_before(to) - characters_before(from));
  };
  const int column = 1 + columns(line_begin, begin);
  return {static_cast<int>(index) + 1, column, column + std::max(1, columns(begin, end))};
}

SourceRange YamlText::at(std::size_t offset) const { return range(offset, offset + 1); }

std::size_t YamlText::content_start(std::size_t offset) const {
  while (offset < text_.size() && (text_[offset] == '&' || text_[offset] == '!')) {
    std::size_t next = text_.find_first_of(" \t\r\n", offset);
    if (next == kNowhere) return offset;
    next = text_.find_first_not_of(" \t", next);
    if (next == kNowhere || text_[next] == '\n' || text_[next] == '\r' || text_[next] == '#') return offset;
    offset = next;
  }
  return offset;
}

SourceRange YamlText::scalar(std::size_t offset, std::string_view value) const {
  if (offset >= text_.size()) return at(offset);
  const std::size_t line_end = line_starts_[line_index(offset)] + line_of(offset).size();
  const char first = text_[offset];
  if (first == '"' || first == '\'') return range(offset, quoted_end(text_, offset, line_end));
  if (text_.substr(offset, value.size()) == value) return range(offset, offset + value.size());
  return range(offset, line_end);
}

std::size_t YamlText::tab_in_indentation(std::size_t offset) const {
  const std::string_view line = line_of(offset);
  const std::size_t tab = line.find_first_not_of(' ');
  if (tab == kNowhere || line[tab] != '\t') return kNowhere;
  return static_cast<std::size_t>(line.data() - text_.data()) + tab;
}

bool check_bytes(std::string_view text, Findings& findings) {
  if (text.size() > kLongestFile) {
    findings.error({1, 1, 2}, "yaml.too-long", "the file is longer than 1 MiB",
                   "a cluster of hundreds of nodes fits into a few hundred KiB: is this the right file?");
    return false;
  }
  const YamlText lines(text);
  const std::size_t already = findings.all().size();
  for (std::size_t i = 0; i < text.size() && findings.all().size() - already < kMostByteFindings;) {
    const CodePoint point = code_point_at(text, i);
    if (!point.valid) {
      // The whole file is in another encoding or binary, so one finding is enough.
      findings.error(lines.at(i), "yaml.not-utf8", "this is not UTF-8 text", "save the file as UTF-8");
      return false;
    }
    if (is_control(point.value) && point.value != '\t' && point.value != '\n' && point.value != '\r') {
      findings.error(lines.at(i), "yaml.control-character",
                     "the control character " + code_point_name(point.value) + " is not allowed in this file",
                     "delete it");
    }
    i += point.length;
  }
  return findings.all().size() == already;
}

std::size_t find_unfit_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const bool harmless_blank = point.value == '\n' || point.value == '\t';
    if ((is_control(point.value) && !harmless_blank) || is_reordering(point.value)) return i;
    i += point.length;
  }
  return kNowhere;
}

Value type_plain_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Value();
  if (text == "true") return Value(true);
  if (text == "false") return Value(false);
  const std::string_view number = text.front() == '+' ? text.substr(1) : text;
  if (all_digits(without_sign(text))) {
    if (const auto integer = parse_number(number)) return Value(*integer);
  } else if (is_decimal_fraction(text)) {
    double real = 0;
    const char* const end = number.data() + number.size();
    const auto [stopped, error] = std::from_chars(number.data(), end, real);
    if (error == std::errc() && stopped == end && std::isfinite(real)) return Value(real);
  }
  return Value(text);
}

bool has_leading_zero(std::string_view text) {
  const std::string_view digits = without_sign(text);
  return digits.size() > 1 && digits.front() == '0' && all_digits(digits);
}

}  // namespace sparkplan
