#include "resources/package/dpkg_status.h"

#include <cstddef>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan::package {
namespace {

/// A desktop with thousands of packages has about 5 MB.
constexpr std::size_t kLongestStatus = std::size_t{64} << 20;

/// "libc6 (>= 2.34), libnvme1 (= 1.3) | libnvme:any" -> libc6, libnvme1, libnvme
void add_names(std::string_view relations, std::set<std::string>& names) {
  for (const std::string_view clause : split(relations, ',')) {
    for (const std::string_view alternative : split(clause, '|')) {
      const std::string_view word = trim(alternative);
      const std::string_view name = word.substr(0, word.find_first_of(" (:["));
      if (!name.empty()) names.emplace(name);
    }
  }
}

/// The parts of "Field: value"; both empty for a continuation line.
std::pair<std::string_view, std::string_view> field_in(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || line.starts_with(' ') || line.starts_with('\t')) return {};
  return {line.substr(0, colon), trim(line.substr(colon + 1))};
}

/// "NAME:ARCHITECTURE" of the packages that apt installed automatically.
std::set<std::string> automatic_in(std::string_view extended_states) {
  std::set<std::string> found;
  std::string_view name;
  std::string_view architecture;
  for (const std::string_view line : split_lines(extended_states)) {
    const auto [field, value] = field_in(line);
    if (field == "Package") name = value;
    if (field == "Architecture") architecture = value;
    if (field == "Auto-Installed" && value == "1") found.insert(std::string(name) + ":" + std::string(architecture));
  }
  return found;
}

void take_field(std::string_view line, KnownPackage& package) {
  const auto [field, value] = field_in(line);
  if (field == "Package") package.name = value;
  if (field == "Architecture") package.architecture = value;
  if (field == "Version") package.version = value;
  if (field == "Depends" || field == "Pre-Depends") add_names(value, package.needs);
  if (field != "Status") return;
  const auto words = words_of(value);
  if (words.size() != 3) return;
  package.held = words[0] == "hold";
  package.state = words[2];
}

}  // namespace

DpkgStatus DpkgStatus::parse(std::string_view text, std::string_view extended_states) {
  DpkgStatus status;
  const std::set<std::string> automatic = automatic_in(extended_states);
  KnownPackage package;
  const auto end_of_stanza = [&] {
    if (package.name == "dpkg") status.own_architecture_ = package.architecture;
    if (!package.name.empty() && !package.state.empty()) {
      std::string name = package.name;
      status.packages_.emplace(std::move(name), std::move(package));
    }
    package = KnownPackage();
  };
  for (const std::string_view line : split_lines(text)) {
    if (line.empty()) {
      end_of_stanza();
    } else {
      take_field(line, package);
    }
  }
  end_of_stanza();
  // apt lists a package of all architectures under the machine's own, which only dpkg's own stanza shows.
  for (auto& [name, known] : status.packages_) {
    const bool for_all = known.architecture == "all";
    const std::string& noted =
        for_all && !status.own_architecture_.empty() ? status.own_architecture_ : known.architecture;
    known.automatic = automatic.contains(name + ":" + noted);
  }
  return status;
}

std::string DpkgStatus::name_to_apt(const std::string& name) const {
  const auto colon = name.find(':');
  if (colon == std::string::npos) return name;
  const auto architecture = std::string_view(name).substr(colon + 1);
  const bool own = architecture == own_architecture_ || architecture == "native" || architecture == "all";
  return own ? name.substr(0, colon) : name;
}

Result<DpkgStatus> DpkgStatus::read(const NodeReader& node) {
  const Result<std::string> text = node.read_file(kStatusFile, kLongestStatus);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return failure(ErrorCode::kUnsupported, "there is no dpkg on this node",
                   "the section packages supports Debian, Ubuntu and DGX OS");
  }
  if (!text) return failure(text.error());
  SPARK_TRY(const std::string states, or_empty(node.read_file(kExtendedStates, kLongestStatus)));
  return parse(*text, states);
}

const KnownPackage* DpkgStatus::find(std::string_view name) const {
  const auto colon = name.find(':');
  const std::string_view plain = name.substr(0, colon);
  const std::string_view asked = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  const std::string_view architecture = asked.empty() || asked == "native" ? own_architecture_ : asked;
  const KnownPackage* found = nullptr;
  const auto [begin, end] = packages_.equal_range(plain);
  for (auto at = begin; at != end; ++at) {
    const KnownPackage& package = at->second;
    const bool fits =
        asked == "any" || architecture.empty() || package.architecture == architecture || package.architecture == "all";
    if (fits && (found == nullptr || package.installed())) found = &package;
  }
  return found;
}

std::vector<std::string> dependents_first(const std::vector<std::string>& names,
                                          const std::map<std::string, std::set<std::string>>& needs) {
  const auto plain = [](const std::string& name) { return name.substr(0, name.find(':')); };
  std::map<std::string, std::vector<std::string>> dependents;
  for (const std::string& name : names) {
    const auto its_needs = needs.find(name);
    if (its_needs == needs.end()) continue;
    for (const std::string& needed : its_needs->second) dependents[needed].push_back(name);
  }
  struct Visit {
    std::string name;
    std::size_t next = 0;  ///< Index of the next dependent.
  };
  std::vector<std::string> ordered;
  std::set<std::string> visited;
  // Depth first: a package's dependents come before the package. There is no recursion, because the node reports the
  // chain, and it may be long.
  for (const std::string& name : names) {
    std::vector<Visit> path;
    if (visited.insert(name).second) path.push_back({name});
    while (!path.empty()) {
      const auto found = dependents.find(plain(path.back().name));
      if (found == dependents.end() || path.back().next == found->second.size()) {
        ordered.push_back(std::move(path.back().name));
        path.pop_back();
      } else if (const std::string& other = found->second[path.back().next++]; visited.insert(other).second) {
        path.push_back({other});
      }
    }
  }
  return ordered;
}

}  // namespace sparkplan::package
