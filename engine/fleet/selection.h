#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// --only and --exclude. A pattern is NODE, NODE/TYPE or NODE/TYPE/NAME, split at the first two
/// slashes only, each part a glob. Without --only everything is in; --exclude takes out.
class Selection {
 public:
  Selection() = default;
  Selection(const std::vector<std::string>& only, const std::vector<std::string>& exclude);

  bool everything() const { return only_.empty() && exclude_.empty(); }
  /// False only when nothing of the node can be selected; such a node is not even contacted.
  bool includes_node(std::string_view node) const;
  bool includes(std::string_view node, const ResourceId& resource) const;
  /// A pattern that can fit nothing is most likely a slip of the fingers, and a run without what was
  /// meant would look like a node in sync. Resource names are not looked at: only nodes know them all.
  /// Errors: kInvalidInput for the first pattern whose node or type does not exist.
  Result<void> check(const Cluster& cluster, const Registry& registry) const;

 private:
  struct Pattern {
    std::string text;
    std::string node;
    std::string type = "*";
    std::string name = "*";
    bool whole_node = true;
  };
  static Pattern parse(const std::string& text);
  static bool matches(const Pattern& pattern, std::string_view node, const ResourceId& resource);

  std::vector<Pattern> only_;
  std::vector<Pattern> exclude_;
};

}  // namespace sparkplan
