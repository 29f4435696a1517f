#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/load/unresolved_node.h"

namespace sparkplan {

/// The names of a file's nodes, and the one that a misspelt name probably means.
class NodeNames {
 public:
  /// Different words that meant_by() compares with the names. Comparing takes time for each letter of each name.
  static constexpr std::size_t kMostCompared = 32;

  explicit NodeNames(const std::vector<UnresolvedNode>& nodes);

  bool has(const std::string& name) const { return names_.contains(name); }
  /// As nearest(). Nothing for a word that no node can be called, or after kMostCompared other words.
  std::optional<std::string> meant_by(const std::string& word);

 private:
  std::set<std::string> names_;
  std::vector<std::string> candidates_;
  std::map<std::string, std::optional<std::string>> answers_;
};

}  // namespace sparkplan
