#include "engine/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>

#include "engine/core/ascii.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

// The length that a lead byte implies, and the range of its first continuation byte (RFC 3629, 4).
struct Lead {
  std::size_t length = 1;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

std::string code_point_name(char32_t c) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "<U+%04X>", static_cast<unsigned>(c));
  return buffer.data();
}

// Optimal string alignment: this distance counts two swapped letters as one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

// A name split into one of its runs of digits and the text around it. The parts point into the name: copies of a name
// with hundreds of numbers would need its length times that number.
struct Reading {
  std::string_view prefix;
  std::string_view digits;
  std::string_view suffix;

  std::pair<std::string_view, std::string_view> shape() const { return {prefix, suffix}; }
};

// One reading per run of digits. Longer runs are not counters and would not fit an integer, and a name above
// kLongestFoldedName has no counter.
std::vector<Reading> readings_of(std::string_view name) {
  constexpr std::size_t kLongestNumber = 18;
  std::vector<Reading> readings;
  if (name.size() > kLongestFoldedName) return readings;
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end - i <= kLongestNumber) readings.push_back({name.substr(0, i), name.substr(i, end - i), name.substr(end)});
    i = end;
  }
  return readings;
}

std::int64_t number_of(const std::string& digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

bool is_padded(const std::string& digits) { return digits.size() > 1 && digits.front() == '0'; }

// Whether "first-next" can be read in only one way by a reader who knows all names between them.
bool continues(const std::string& first, const std::string& last, const std::string& next) {
  return number_of(next) == number_of(last) + 1 &&
         (next.size() == first.size() || (!is_padded(first) && !is_padded(next)));
}

using ShapeMembers = std::map<std::pair<std::string_view, std::string_view>, std::vector<std::size_t>>;

std::vector<std::string> without_repeats(std::span<const std::string> names) {
  std::vector<std::string> unique;
  std::map<std::string_view, bool> seen;
  for (const auto& name : names) {
    if (seen.emplace(name, true).second) unique.push_back(name);
  }
  return unique;
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[position + i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = lead_of(first);
  if (lead.length == 1) return {U'\uFFFD', 1, false};
  char32_t value = first & (0xFFU >> (lead.length + 1));
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (position + i >= text.size()) return {U'\uFFFD', i, false};
    const std::uint8_t low = i == 1 ? lead.low : 0x80;
    const std::uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {U'\uFFFD', i, false};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  return {value, lead.length, true};
}

void append_utf8(std::string& out, char32_t value) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0U | value >> 6U);
    put(0x80U | (value & 0x3FU));
  } else if (value < 0x10000) {
    put(0xE0U | value >> 12U);
    put(0x80U | (value >> 6U & 0x3FU));
    put(0x80U | (value & 0x3FU));
  } else {
    put(0xF0U | value >> 18U);
    put(0x80U | (value >> 12U & 0x3FU));
    put(0x80U | (value >> 6U & 0x3FU));
    put(0x80U | (value & 0x3FU));
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (auto end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  pieces.push_back(text);
  return pieces;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  auto lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string_view> lines_with_ends(std::string_view text) {
  std::vector<std::string_view> lines;
  lines.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  while (!text.empty()) {
    const std::string_view whole = text;
    lines.push_back(whole.substr(0, take_line(text).size() + 1));
  }
  return lines;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; });
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const CodePoint point = code_point_at(text, i);
    if (!point.valid) return false;
    i += point.length;
  }
  return true;
}

std::string printable(std::string_view text, bool keep_newlines) {
  // Nearly every text needs no change; a report of many nodes has tens of thousands of texts.
  const auto may_stay_as_it_is = [keep_newlines](char c) {
    return (c >= ' ' && c <= '~') || (keep_newlines && (c == '\n' || c == '\t'));
  };
  if (std::all_of(text.begin(), text.end(), may_stay_as_it_is)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const char32_t c = point.value;
    const bool may_stay = keep_newlines && (c == U'\n' || c == U'\t');
    if (c < 0x20 && !may_stay) {
      append_utf8(out, 0x2400 + c);
    } else if (c == 0x7F) {
      append_utf8(out, 0x2421);
    } else if (is_treacherous(c)) {
      out += code_point_name(c);
    } else {
      append_utf8(out, c);
    }
    i += point.length;
  }
  return out;
}

std::string printable_words(std::string_view text) {
  std::string words = printable(text);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  words.erase(std::unique(words.begin(), words.end(), both_blank), words.end());
  return words;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() <= kLongest) return "\"" + printable(text) + "\"";
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return "\"" + printable(text.substr(0, end)) + "...\"";
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // The time grows with the square of the length, and a file may have a "name" of a megabyte.
  constexpr std::size_t kMostBytes = 256;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const auto& candidate : candidates) {
    if (std::max(word.size(), candidate.size()) > kMostBytes) continue;
    const std::size_t limit = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter > limit) continue;  // At least this many letters have to be added.
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= limit && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string fold_numbers(std::vector<std::string> numbers) {
  std::sort(numbers.begin(), numbers.end(), [](const std::string& a, const std::string& b) {
    return std::pair(number_of(a), a.size()) < std::pair(number_of(b), b.size());
  });
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && continues(numbers[i], numbers[end], numbers[end + 1])) ++end;
    if (!text.empty()) text += ',';
    text += numbers[i];
    if (end > i) text += "-" + numbers[end];
    i = end + 1;
  }
  return text;
}

std::string fold_names(std::span<const std::string> names) {
  const auto unique = without_repeats(names);
  ShapeMembers members;
  for (std::size_t i = 0; i < unique.size(); ++i) {
    for (const auto& reading : readings_of(unique[i])) members[reading.shape()].push_back(i);
  }
  std::vector<bool> used(unique.size(), false);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < unique.size(); ++i) {
    if (used[i]) continue;
    // Of several runs of digits, the one shared by most names. Of equals the last, where counters usually are.
    Reading chosen;
    std::vector<std::size_t> group;
    for (const auto& reading : readings_of(unique[i])) {
      auto candidates = members[reading.shape()];
      std::erase_if(candidates, [&](std::size_t member) { return used[member]; });
      if (candidates.size() < group.size()) continue;
      chosen = reading;
      group = std::move(candidates);
    }
    if (group.size() < 2) {
      parts.push_back(unique[i]);
      continue;
    }
    std::vector<std::string> numbers;
    for (const std::size_t member : group) {
      const auto& name = unique[member];
      numbers.push_back(name.substr(chosen.prefix.size(), name.size() - chosen.prefix.size() - chosen.suffix.size()));
      used[member] = true;
    }
    parts.push_back(std::string(chosen.prefix).append("[").append(fold_numbers(std::move(numbers))).append("]"));
    parts.back().append(chosen.suffix);
  }
  return join(parts, ", ");
}

std::string fold_first_names(std::span<const std::string> names, std::size_t most) {
  if (names.size() <= most) return fold_names(names);
  return fold_names(names.first(most)) + " and " + std::to_string(names.size() - most) + " more";
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  // The position to continue at when the text after the last '*' did not match: that star then matches one more
  // character.
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  std::vector<std::string> found;
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    found.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return found;
}

bool is_within(std::string_view inner, std::string_view outer) {
  return inner == outer || (inner.starts_with(outer) && inner.size() > outer.size() && inner[outer.size()] == '/');
}

}  // namespace sparkplan
