#include "tests/unit/rules/layering_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

/// A layer and the layers that it may include directly; their own includes are also allowed. A layer is a folder below
/// engine/, or a room within such a folder.
const std::map<std::string, std::vector<std::string>, std::less<>> kArrows{
    {"core", {}},
    {"model", {"core"}},
    {"node", {"model"}},
    {"resource", {"node"}},
    {"domain", {"resource"}},
    {"wire", {"model"}},
    {"process", {"core"}},
    {"load", {"domain"}},
    {"markup", {"domain"}},
    {"export", {"markup"}},
    {"plan", {"domain"}},
    {"init", {"load", "plan"}},
    {"remote/keys", {"core"}},
    {"remote/config", {"model", "process"}},
    {"remote/discovery", {"model", "process"}},
    {"remote/transport", {"remote/config", "remote/keys"}},
    {"remote/ssh", {"remote/transport"}},
    {"remote/programs", {"remote/transport", "wire"}},
    {"remote", {"remote/ssh", "remote/programs", "remote/discovery"}},
    {"agent/kernel", {"node", "wire"}},
    {"agent/node", {"agent/kernel", "process"}},
    {"agent/facts", {"agent/node", "domain"}},
    {"agent/state", {"agent/node", "resource"}},
    {"agent/apply", {"agent/state"}},
    {"agent/trial", {"agent/apply"}},
    {"agent/measure", {"agent/node"}},
    {"agent/session", {"agent/facts", "agent/trial", "agent/measure", "carried"}},
    {"agent", {"agent/session"}},
    {"carried", {"wire"}},
    {"nccl", {"carried"}},
    {"job", {"carried"}},
    {"copy", {"carried", "process"}},
    {"launch", {"verify"}},
    {"tune", {"verify"}},
    {"fleet/session", {"plan", "load", "remote"}},
    {"fleet/history", {"fleet/session"}},
    {"fleet/planning", {"fleet/history"}},
    {"fleet/apply", {"fleet/planning"}},
    {"fleet", {"fleet/apply"}},
    {"doctor", {"fleet"}},
    {"verify", {"doctor"}},
    {"sync", {"fleet"}},
    {"report/text", {"model"}},
    {"report/changes", {"report/text", "plan"}},
    {"report/plan", {"report/changes"}},
    {"report/checks", {"report/plan", "verify"}},
    {"report/nodes", {"report/plan", "verify"}},
    {"report/page", {"report/checks", "report/nodes", "markup"}},
    {"report", {"report/page", "launch", "sync", "tune"}},
    {"cli/terminal", {"report"}},
    {"cli/usage", {"core"}},
    {"cli/output", {"cli/terminal"}},
    {"cli/input", {"cli/output"}},
    {"cli/discovery", {"cli/input", "init"}},
    {"cli/commands", {"cli/discovery", "export"}},
    {"cli/flags", {"cli/commands", "cli/usage"}},
    {"cli", {"cli/flags"}},
    {"cli/reference", {"cli"}},
};

/// The beginning of a header's name and the layers that may use that library.
const std::vector<std::pair<std::string, std::set<std::string>>> kLibraries{
    {"yaml-cpp/", {"load"}},
    {"valijson/", {"load"}},
    {"libssh/", {"remote/keys", "remote/ssh"}},
    {"netlink/", {"agent/kernel"}},
    {"linux/rtnetlink", {"agent/kernel"}},
    {"infiniband/", {"agent/kernel"}},
    {"rdma/", {"agent/kernel"}},
    {"nlohmann/", {"load"}},
    {"boost/", {"process"}},
    {"CLI/", {"cli", "cli/flags", "cli/usage"}},
    {"spdlog/", {"cli/terminal"}},
    {"fmt/",
     {"export", "verify", "report", "report/text", "report/changes", "report/plan", "report/checks", "report/nodes",
      "report/page", "cli/commands", "cli/output", "cli/usage"}},
    {"nccl", {"nccl"}},
    {"openssl/", {"copy"}},
    {"cuda", {"nccl"}},
};

/// Libraries of one resource type alone.
const std::vector<std::pair<std::string, std::string>> kTypeLibraries{
    {"yaml.h", "netplan"},
};

struct Include {
  std::string name;
  bool quoted = false;
  std::size_t line = 0;
};

std::optional<Include> include_in(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("#")) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = trim(line.substr(7));
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return std::nullopt;
  const auto end = line.find(line.front() == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(1, end - 1)), line.front() == '"', 0};
}

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  std::size_t number = 0;
  for (const auto line : split_lines(text)) {
    ++number;
    if (auto include = include_in(line)) {
      include->line = number;
      found.push_back(std::move(*include));
    }
  }
  return found;
}

/// Whether rooms within the folder of engine/ are layers.
bool is_divided(std::string_view folder) {
  const auto first = kArrows.lower_bound(std::string(folder) + "/");
  return first != kArrows.end() && first->first.starts_with(std::string(folder) + "/");
}

/// "engine", "plan" for engine/plan/planner.cc; "agent/facts" for a layer within a folder. The second part is empty for
/// a file directly below the first.
std::pair<std::string, std::string> place_of(std::string_view path) {
  const auto parts = split(path, '/');
  if (parts.size() < 2) return {std::string(path), ""};
  if (parts.size() > 3 && is_divided(parts[1])) {
    return {std::string(parts[0]), std::string(parts[1]) + "/" + std::string(parts[2])};
  }
  return {std::string(parts[0]), parts.size() > 2 ? std::string(parts[1]) : ""};
}

bool library_is_allowed(const Include& include, const std::string& tree, const std::string& folder) {
  for (const auto& [prefix, type] : kTypeLibraries) {
    if (include.name.starts_with(prefix)) return tree == "resources" && folder == type;
  }
  for (const auto& [prefix, layers] : kLibraries) {
    if (include.name.starts_with(prefix)) return tree == "engine" && layers.count(folder) > 0;
  }
  return true;
}

bool own_header_is_allowed(const Include& include, const std::string& tree, const std::string& folder) {
  const auto [to_tree, to_folder] = place_of(include.name);
  if (to_tree == "engine") {
    const auto below = layers_below(tree == "resources" ? "domain" : folder);
    return std::find(below.begin(), below.end(), to_folder) != below.end();
  }
  if (to_tree == "resources") return tree == "resources" && to_folder == folder;
  // A generated file next to the including file.
  return include.name.find('/') == std::string::npos && include.name.ends_with(".inc");
}

}  // namespace

std::vector<std::string> layers_below(std::string_view layer) {
  std::set<std::string> reached;
  std::vector<std::string> waiting{std::string(layer)};
  while (!waiting.empty()) {
    const auto next = waiting.back();
    waiting.pop_back();
    const auto arrows = kArrows.find(next);
    if (arrows == kArrows.end() || !reached.insert(next).second) continue;
    waiting.insert(waiting.end(), arrows->second.begin(), arrows->second.end());
  }
  return {reached.begin(), reached.end()};
}

std::vector<std::string> layering_violations(std::string_view path, std::string_view text) {
  const auto [tree, folder] = place_of(path);
  std::vector<std::string> found;
  if (tree == "engine" && kArrows.count(folder) == 0) {
    found.push_back(std::string(path) + ": there is no layer \"" + folder + "\"");
  }
  for (const auto& include : includes_of(text)) {
    const bool own = include.name.starts_with("engine/") || include.name.starts_with("resources/") || include.quoted;
    const bool allowed =
        library_is_allowed(include, tree, folder) && (!own || own_header_is_allowed(include, tree, folder));
    if (allowed) continue;
    found.push_back(std::string(path) + ":" + std::to_string(include.line) + ": must not include " + include.name);
  }
  return found;
}

}  // namespace sparkplan::test
