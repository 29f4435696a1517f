#include "resources/limits/limits.h"

#include <array>
#include <filesystem>
#include <utility>

#include "engine/resource/config_files.h"

namespace sparkplan::limits {
namespace {

constexpr std::string_view kMainFile = "/etc/security/limits.conf";

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
