#include "resources/limits/config_files.h"

#include <filesystem>
#include <utility>

namespace sparkplan::limits {
namespace {

constexpr std::string_view kMainFile = "/etc/security/limits.conf";

/// Nothing for what is not there or is no regular file.
Result<std::optional<std::string>> read_config(const std::filesystem::path& path, const NodeReader& node) {
  Result<std::string> text = node.read_file(path);
  if (text) return std::optional<std::string>(*std::move(text));
  if (text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (text.error().code == ErrorCode::kUnsupported) {
    SPARK_TRY(const FileStatus status, node.status(path));
    if (status.kind != FileStatus::Kind::kRegular) return std::optional<std::string>();
  }
  return failure(std::move(text).error().within("could override our values"));
}

Result<void> add(const std::filesystem::path& path, bool after_ours, const NodeReader& node,
                 std::vector<ConfigFile>& files) {
  SPARK_TRY(const std::optional<std::string> text, read_config(path, node));
  if (text) files.push_back({path.string(), parse_file(*text), after_ours});
  return {};
}

Found found_in(const ConfigFile& file, const Line& line) {
  return {&line, file.path + ":" + std::to_string(line.number)};
}

bool says(const Line& line, const LimitName& name, bool soft) {
  return !line.exempts && line.item == name.item && (soft ? line.soft : line.hard);
}

/// 0 is the most specific; empty for a domain that does not match.
std::optional<int> rank_of(const std::string& domain, const Matching& who) {
  if (domain == who.user) return 0;
  if (who.user == "root") return std::nullopt;  // Neither a group's nor everybody's limits are set for root.
  if (domain.starts_with('@') && who.groups.contains(domain.substr(1))) return 1;
  if (domain == "*") return 2;
  return std::nullopt;
}

}  // namespace

Result<std::vector<ConfigFile>> config_files(const NodeReader& node) {
  std::vector<ConfigFile> files;
  SPARK_CHECK(add(kMainFile, false, node, files));
  const std::filesystem::path own(kOwnFile);
  const Result<std::vector<std::string>> names = node.list_directory(own.parent_path());
  if (!names) {
    if (names.error().code == ErrorCode::kNotFound) return files;
    return failure(names.error());
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(".conf") || name.starts_with('.') || name == own.filename().string()) continue;
    SPARK_CHECK(add(own.parent_path() / name, name > own.filename().string(), node, files));
  }
  return files;
}

std::optional<Found> overriding(const LimitName& name, bool soft, std::span<const ConfigFile> files) {
  std::optional<Found> last;
  for (const ConfigFile& file : files) {
    if (!file.after_ours) continue;
    for (const Line& line : file.lines) {
      if (line.domain == name.domain && says(line, name, soft)) last = found_in(file, line);
    }
  }
  return last;
}

std::vector<Repetition> repetitions(const LimitName& name, const Limit& ours, std::span<const ConfigFile> files) {
  std::vector<Repetition> found;
  for (const ConfigFile& file : files) {
    Repetition here{file.path, {}};
    int soft = 0;
    int hard = 0;
    // From the last one: what stands below a line decides in its place, and so does a file that is read later.
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
    // Two lines may each decide over one of the two.
    if (!here.lines.empty() && (soft > 1 || hard > 1)) found.push_back(std::move(here));
  }
  return found;
}

std::optional<Found> exempting(const std::set<std::string>& domains, std::span<const ConfigFile> files) {
  for (const ConfigFile& file : files) {
    for (const Line& line : file.lines) {
      if (line.exempts && line.domain != "*" && domains.contains(line.domain)) return found_in(file, line);
    }
  }
  return std::nullopt;
}

std::optional<Found> winning(const LimitName& name, bool soft, const Matching& who, std::span<const ConfigFile> files) {
  const std::optional<int> our_rank = rank_of(name.domain, who);
  if (!our_rank) return std::nullopt;
  int best = *our_rank;
  std::optional<Found> winner;
  for (const ConfigFile& file : files) {
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
