#include "resources/package/apt.h"

#include <algorithm>
#include <chrono>

#include "engine/core/text.h"

namespace sparkplan::package {
namespace {

/// apt reads the lists of a distribution: about a second.
constexpr std::chrono::seconds kDeadline{15};

/// Other resources of the type, such as holds, have a slash in their names.
bool is_package(const std::string& name) { return name.find('/') == std::string::npos; }

bool changes_sources(const ChangesAhead& ahead) {
  const auto files = ahead.find("file");
  return files != ahead.end() &&
         std::ranges::any_of(files->second, [](const auto& file) { return file.first.starts_with("/etc/apt/"); });
}

/// The words do not depend on the age of the lists, because a saved plan is compared with its findings.
Ineffective not_offered(const std::string& name, const std::string& what) {
  return {
      name, "package.no-source", "the package lists of the node do not have " + what,
      "find the name with `apt-cache search`; the node may lack the package source that has it. Apply updates lists "
      "that are older than a day"};
}

}  // namespace

std::map<std::string, std::set<std::string>> parse_policy(std::string_view output) {
  std::map<std::string, std::set<std::string>> versions;
  std::set<std::string>* current = nullptr;
  bool in_table = false;
  for (const std::string_view line : split_lines(output)) {
    if (!line.starts_with(' ')) {
      in_table = false;
      current = line.ends_with(':') ? &versions[std::string(line.substr(0, line.size() - 1))] : nullptr;
      continue;
    }
    if (trim(line) == "Version table:") {
      in_table = true;
      continue;
    }
    // " *** 2.3-1 100" or "     2.3-1 500"; lines about the sources of a version are further to the right.
    const bool of_version = line.starts_with(" *** ") || (line.starts_with("     ") && !line.starts_with("      "));
    const auto words = words_of(of_version ? line.substr(5) : std::string_view());
    if (in_table && current != nullptr && words.size() > 1) current->insert(words[0]);
  }
  return versions;
}

std::vector<Ineffective> packages_without_source(const ChangesAhead& ahead, const NodeReader& node) {
  const auto wanted = ahead.find("package");
  if (wanted == ahead.end() || !node.live() || changes_sources(ahead) || !has_lists(node)) return {};
  std::vector<std::string> argv{"env", "LC_ALL=C", "apt-cache", "policy", "--"};
  const std::size_t without_names = argv.size();
  for (const auto& [name, value] : wanted->second) {
    if (is_package(name)) argv.push_back(name);
  }
  if (argv.size() == without_names) return {};
  const auto output = node.query(argv, kDeadline);
  if (!output || output->exit_status != 0) return {};
  const auto offered = parse_policy(output->standard_output);
  std::vector<Ineffective> found;
  for (const auto& [name, value] : wanted->second) {
    if (!is_package(name)) continue;
    const auto versions = offered.find(name);
    const std::string version = value.text_or("version", "");
    if (versions == offered.end() || versions->second.empty()) {
      found.push_back(not_offered(name, name));
    } else if (!version.empty() && !versions->second.contains(version)) {
      found.push_back(not_offered(name, "version " + version + " of " + name));
    }
  }
  return found;
}

}  // namespace sparkplan::package
