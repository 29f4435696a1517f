#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/limits/item.h"
#include "resources/limits/limits.h"

namespace sparkplan::limits {
namespace {

constexpr std::size_t kWordsOfALine = 4;

/// pam_limits ignores case in all words except the domain.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<Line> line_of(const std::vector<std::string>& words, int number) {
  Line line;
  line.number = number;
  if (words.size() == 2 && words[1].starts_with('-')) {
    line.domain = words[0];
    line.exempts = true;
    return line;
  }
  if (words.size() < kWordsOfALine) return std::nullopt;
  line.domain = words[0];
  line.item = lower(words[2]);
  const Item* item = find_item(line.item);
  if (item == nullptr) return std::nullopt;
  const std::string type = lower(words[1]);
  line.soft = type == kSoft || type == "-" || item->has_one_value();
  line.hard = type == kHard || type == "-" || item->has_one_value();
  std::optional<std::string> value = value_as_read(*item, lower(words[3]));
  if (!value || (!line.soft && !line.hard)) return std::nullopt;
  line.value = *std::move(value);
  return line;
}

using Row = std::array<std::string, kWordsOfALine>;

std::vector<Row> rows_of(const std::map<LimitName, Limit>& limits) {
  std::vector<Row> rows;
  for (const auto& [name, limit] : limits) {
    const Item* item = find_item(name.item);
    if (item != nullptr && item->has_one_value()) {
      rows.push_back({name.domain, "-", name.item, limit.soft ? *limit.soft : limit.hard.value_or("")});
      continue;
    }
    if (limit.soft) rows.push_back({name.domain, std::string(kSoft), name.item, *limit.soft});
    if (limit.hard) rows.push_back({name.domain, std::string(kHard), name.item, *limit.hard});
  }
  return rows;
}

}  // namespace

std::vector<Line> parse_file(std::string_view content) {
  std::vector<Line> lines;
  int number = 0;
  for (const std::string_view raw : split_lines(content)) {
    ++number;
    if (auto line = line_of(words_of(raw.substr(0, raw.find('#'))), number)) lines.push_back(*std::move(line));
  }
  return lines;
}

std::map<LimitName, Limit> limits_of(std::string_view content) {
  std::map<LimitName, Limit> limits;
  for (const Line& line : parse_file(content)) {
    if (line.exempts) continue;
    Limit& limit = limits[{line.domain, line.item}];
    if (line.soft) limit.soft = line.value;
    if (line.hard) limit.hard = line.value;
  }
  return limits;
}

std::string render_file(const std::map<LimitName, Limit>& limits) {
  const std::vector<Row> rows = rows_of(limits);
  std::array<std::size_t, kWordsOfALine - 1> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = ownership_header();
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

}  // namespace sparkplan::limits
