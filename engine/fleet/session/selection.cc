#include "engine/fleet/session/selection.h"

#include <algorithm>

#include "engine/core/name_list.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// Sixteen patterns, each with the names of a thousand nodes.
constexpr std::size_t kMostNameBytes = std::size_t{2} << 20;

bool fits_any(const std::string& glob, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return glob_match(glob, name); });
}

/// The nearest name, or all names.
std::string what_there_is(const std::string& glob, const std::vector<std::string>& names) {
  if (const auto meant = nearest(glob, names)) return "did you mean \"" + *meant + "\"?";
  return "available: " + fold_names(names);
}

std::vector<std::string> node_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const auto& node : cluster.nodes) names.push_back(node.name.str());
  return names;
}

}  // namespace

Error no_such_node(const std::string& name, const Cluster& cluster) {
  return make_error(ErrorCode::kInvalidInput, "there is no node " + name + " in " + cluster.file,
                    what_there_is(name, node_names(cluster)));
}

Selection::Selection(const std::vector<std::string>& only, const std::vector<std::string>& exclude) {
  parse(only, only_);
  parse(exclude, exclude_);
}

void Selection::parse(const std::vector<std::string>& arguments, std::vector<Pattern>& patterns) {
  std::size_t bytes = 0;
  for (const auto& argument : arguments) {
    bytes += argument.size();
    if (bytes > kMostPatternBytes) {
      fault_ = "the patterns have more than " + std::to_string(kMostPatternBytes >> 10) + " KiB";
      return;
    }
    auto parts = split_name_list(argument);
    // An empty argument matches nothing; check() reports it.
    if (parts.empty()) parts.push_back(argument);
    for (const auto& text : parts) {
      if (patterns.size() == kMostPatterns) {
        fault_ = "there are more than " + std::to_string(kMostPatterns) + " patterns";
        return;
      }
      patterns.push_back(parse(text));
      for (const std::string& name : patterns.back().nodes) name_bytes_ += sizeof name + name.size();
      if (name_bytes_ > kMostNameBytes) {
        fault_ = "the patterns stand for more than " + std::to_string(kMostNameBytes >> 20) + " MiB of names";
        return;
      }
    }
  }
}

Selection::Pattern Selection::parse(const std::string& text) {
  Pattern pattern;
  pattern.text = text;
  const auto first = text.find('/');
  pattern.nodes = unfold_names(text.substr(0, first));
  if (first == std::string::npos) return pattern;
  pattern.whole_node = false;
  const auto second = text.find('/', first + 1);
  pattern.type = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  if (second != std::string::npos) pattern.name = text.substr(second + 1);
  return pattern;
}

bool Selection::names(const Pattern& pattern, std::string_view node) {
  return std::ranges::any_of(pattern.nodes, [&](const std::string& glob) { return glob_match(glob, node); });
}

bool Selection::matches(const Pattern& pattern, std::string_view node, const ResourceId& resource) {
  return names(pattern, node) && glob_match(pattern.type, resource.type) && glob_match(pattern.name, resource.name);
}

bool Selection::includes_node(std::string_view node) const {
  if (!fault_.empty()) return false;
  const auto names_it = [&](const Pattern& pattern) { return names(pattern, node); };
  if (!only_.empty() && std::none_of(only_.begin(), only_.end(), names_it)) return false;
  return std::none_of(exclude_.begin(), exclude_.end(),
                      [&](const Pattern& pattern) { return pattern.whole_node && names_it(pattern); });
}

bool Selection::includes(std::string_view node, const ResourceId& resource) const {
  if (!fault_.empty()) return false;
  const auto fits = [&](const Pattern& pattern) { return matches(pattern, node, resource); };
  if (!only_.empty() && std::none_of(only_.begin(), only_.end(), fits)) return false;
  return std::none_of(exclude_.begin(), exclude_.end(), fits);
}

Result<void> Selection::check(const Cluster& cluster, const Registry& registry) const {
  if (!fault_.empty()) {
    return failure(ErrorCode::kInvalidInput, "--only or --exclude is too long: " + fault_,
                   "name the nodes with * and ?, or with numbers in brackets");
  }
  const std::vector<std::string> nodes = node_names(cluster);
  std::vector<std::string> types;
  for (const auto& type : registry.types()) types.push_back(type->info().name);
  for (const auto* list : {&only_, &exclude_}) {
    for (const auto& pattern : *list) {
      if (has_too_many_brackets(std::string_view(pattern.text).substr(0, pattern.text.find('/')))) {
        return failure(ErrorCode::kInvalidInput,
                       in_quotes(pattern.text) + " has more than " + std::to_string(kMostBrackets) + " brackets",
                       "name the nodes with commas between them, or with * and ?");
      }
      for (const auto& glob : pattern.nodes) {
        if (fits_any(glob, nodes)) continue;
        const std::string& named = pattern.nodes.size() > 1 ? glob : pattern.text;
        const std::string fault = fault_of_brackets(glob);
        return failure(ErrorCode::kInvalidInput, in_quotes(named) + " matches no node of " + cluster.file,
                       fault.empty() ? what_there_is(glob, nodes) : fault);
      }
      if (!fits_any(pattern.type, types)) {
        return failure(ErrorCode::kInvalidInput, in_quotes(pattern.text) + " matches no resource type",
                       what_there_is(pattern.type, types));
      }
    }
  }
  return {};
}

std::string way_without(const std::string& exclusion, const std::vector<std::string>& names) {
  if (exclusion.empty() || names.empty()) return {};
  return std::string("to change the other nodes without ") + (names.size() == 1 ? "it" : "them") + ": " + exclusion +
         " " + join(names, " --exclude ");
}

}  // namespace sparkplan
