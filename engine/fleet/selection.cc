#include "engine/fleet/selection.h"

#include <algorithm>

#include "engine/core/text.h"

namespace sparkplan {

Selection::Selection(const std::vector<std::string>& only, const std::vector<std::string>& exclude) {
  for (const auto& text : only) only_.push_back(parse(text));
  for (const auto& text : exclude) exclude_.push_back(parse(text));
}

Selection::Pattern Selection::parse(const std::string& text) {
  Pattern pattern;
  pattern.text = text;
  const auto first = text.find('/');
  pattern.node = text.substr(0, first);
  if (first == std::string::npos) return pattern;
  pattern.whole_node = false;
  const auto second = text.find('/', first + 1);
  pattern.type = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  if (second != std::string::npos) pattern.name = text.substr(second + 1);
  return pattern;
}

bool Selection::matches(const Pattern& pattern, std::string_view node, const ResourceId& resource) {
  return glob_match(pattern.node, node) && glob_match(pattern.type, resource.type) &&
         glob_match(pattern.name, resource.name);
}

bool Selection::includes_node(std::string_view node) const {
  const auto names_it = [&](const Pattern& pattern) { return glob_match(pattern.node, node); };
  if (!only_.empty() && std::none_of(only_.begin(), only_.end(), names_it)) return false;
  return std::none_of(exclude_.begin(), exclude_.end(),
                      [&](const Pattern& pattern) { return pattern.whole_node && names_it(pattern); });
}

bool Selection::includes(std::string_view node, const ResourceId& resource) const {
  const auto fits = [&](const Pattern& pattern) { return matches(pattern, node, resource); };
  if (!only_.empty() && std::none_of(only_.begin(), only_.end(), fits)) return false;
  return std::none_of(exclude_.begin(), exclude_.end(), fits);
}

std::vector<std::string> Selection::idle_patterns(const Cluster& cluster) const {
  std::vector<std::string> idle;
  for (const auto* list : {&only_, &exclude_}) {
    for (const auto& pattern : *list) {
      const bool fits = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                    [&](const NodeSpec& node) { return glob_match(pattern.node, node.name.str()); });
      if (!fits) idle.push_back(pattern.text);
    }
  }
  return idle;
}

}  // namespace sparkplan
