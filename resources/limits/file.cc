#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/config_files.h"
#include "engine/resource/rendered_text.h"
#include "resources/limits/item.h"
#include "resources/limits/limits.h"

namespace sparkplan::limits {
namespace {

constexpr std::string_view kMainFile = "/etc/security/limits.conf";
constexpr std::size_t kWordsOfALine = 4;
/// The longest domain of a file. A longer one does not widen the column of all others.
constexpr std::size_t kWidestColumn = 64;

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
  // pam_limits ignores case in all words except the domain.
  line.item = lower_case(words[2]);
  const Item* item = find_item(line.item);
  if (item == nullptr) return std::nullopt;
  const std::string type = lower_case(words[1]);
  line.soft = type == kSoft || type == "-" || item->has_one_value();
  line.hard = type == kHard || type == "-" || item->has_one_value();
  std::optional<std::string> value = value_as_read(*item, lower_case(words[3]));
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

Found found_in(const LimitsFile& file, const Line& line) {
  return {&line, file.path + ":" + std::to_string(line.number)};
}

bool says(const Line& line, const LimitName& name, bool soft) {
  return !line.exempts && line.item == name.item && (soft ? line.soft : line.hard);
}

/// 0 is the most specific; nothing for a domain that does not match.
std::optional<int> rank_of(const std::string& domain, const Matching& who) {
  if (domain == who.user) return 0;
  if (who.user == "root") return std::nullopt;  // Limits of groups and of "*" do not apply to root.
  if (domain.starts_with('@') && who.groups.contains(domain.substr(1))) return 1;
  if (domain == "*") return 2;
  return std::nullopt;
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
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], std::min(row[i].size(), kWidestColumn));
  }
  RenderedText text;
  text.add({ownership_header()});
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::size_t width = std::max(widths[i], row[i].size());
      text.add({row[i], std::string(width - row[i].size() + 2, ' ')});
    }
    text.add({row.back(), "\n"});
  }
  return std::move(text).text();
}

Result<std::vector<LimitsFile>> limits_files(const NodeReader& node) {
  const std::filesystem::path own(kOwnFile);
  const std::string directory = own.parent_path();
  const std::string own_name = own.filename();
  std::vector<LimitsFile> files;
  SPARK_TRY(const std::optional<std::string> main, read_config(kMainFile, node));
  if (main) files.push_back({std::string(kMainFile), parse_file(*main), false});
  const std::array<std::string_view, 1> directories{directory};
  const auto is_foreign = [&](const std::string& name) { return name != own_name; };
  SPARK_TRY(const auto others, read_config_files(directories, ".conf", node, is_foreign));
  for (const ConfigFile& other : others)
    files.push_back({other.path, parse_file(other.content), other.path > kOwnFile});
  return files;
}

std::optional<Found> overriding(const LimitName& name, bool soft, std::span<const LimitsFile> files) {
  std::optional<Found> last;
  for (const LimitsFile& file : files) {
    if (!file.after_ours) continue;
    for (const Line& line : file.lines) {
      if (line.domain == name.domain && says(line, name, soft)) last = found_in(file, line);
    }
  }
  return last;
}

std::vector<Repetition> repetitions(const LimitName& name, const Limit& ours, std::span<const LimitsFile> files) {
  std::vector<Repetition> found;
  for (const LimitsFile& file : files) {
    Repetition here{file.path, {}};
    int soft = 0;
    int hard = 0;
    // Starts at the last line: a later line overrides an earlier one, and so does a later file.
    bool soft_is_set = !file.after_ours && ours.soft;
    bool hard_is_set = !file.after_ours && ours.hard;
    for (auto line = file.lines.rbegin(); line != file.lines.rend(); ++line) {
      if (line->domain != name.domain || (!says(*line, name, true) && !says(*line, name, false))) continue;
      const bool decides = (line->soft && !soft_is_set) || (line->hard && !hard_is_set);
      if (!decides) here.lines.insert(here.lines.begin(), line->number);
      soft_is_set = soft_is_set || line->soft;
      hard_is_set = hard_is_set || line->hard;
      soft += line->soft ? 1 : 0;
      hard += line->hard ? 1 : 0;
    }
    // Of two lines, one may decide the soft limit and the other the hard one.
    if (!here.lines.empty() && (soft > 1 || hard > 1)) found.push_back(std::move(here));
  }
  return found;
}

std::optional<Found> exempting(const std::set<std::string>& domains, std::span<const LimitsFile> files) {
  for (const LimitsFile& file : files) {
    for (const Line& line : file.lines) {
      if (line.exempts && line.domain != "*" && domains.contains(line.domain)) return found_in(file, line);
    }
  }
  return std::nullopt;
}

std::optional<Found> winning(const LimitName& name, bool soft, const Matching& who, std::span<const LimitsFile> files) {
  const std::optional<int> our_rank = rank_of(name.domain, who);
  if (!our_rank) return std::nullopt;
  int best = *our_rank;
  std::optional<Found> winner;
  for (const LimitsFile& file : files) {
    for (const Line& line : file.lines) {
      const std::optional<int> rank = rank_of(line.domain, who);
      if (!rank || !says(line, name, soft) || *rank > best) continue;
      if (*rank == *our_rank && !file.after_ours) continue;
      best = *rank;
      winner = found_in(file, line);
    }
  }
  return winner;
}

}  // namespace sparkplan::limits
