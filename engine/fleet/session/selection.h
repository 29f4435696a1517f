#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The error for one NODE that the cluster does not have, with the name that was probably meant. kInvalidInput.
Error no_such_node(const std::string& name, const Cluster& cluster);

/// --only and --exclude. A pattern is NODE, NODE/TYPE or NODE/TYPE/NAME, split at the first two slashes only. Each part
/// is a glob. NODE may have numbers in brackets, as fold_names() prints them: "spark-[01-03]". One argument may have
/// several patterns, with commas between them. Without --only everything is selected; --exclude removes from that.
class Selection {
 public:
  Selection() = default;
  Selection(const std::vector<std::string>& only, const std::vector<std::string>& exclude);

  bool everything() const { return fault_.empty() && only_.empty() && exclude_.empty(); }
  /// False only if nothing of the node can be selected. Such a node is not contacted.
  bool includes_node(std::string_view node) const;
  bool includes(std::string_view node, const ResourceId& resource) const;
  /// A pattern that matches nothing is probably a typing error, and its run would look like a node in sync. Resource
  /// names are not checked, because only the nodes know all of them.
  /// Errors: kInvalidInput for the first pattern whose node or type does not exist, and for patterns that are too many
  /// or too long. Those include nothing.
  Result<void> check(const Cluster& cluster, const Registry& registry) const;

 private:
  struct Pattern {
    std::string text;
    std::vector<std::string> nodes;  ///< Globs. The node has to match one of them.
    std::string type = "*";
    std::string name = "*";
    bool whole_node = true;
  };
  void parse(const std::vector<std::string>& arguments, std::vector<Pattern>& patterns);
  static Pattern parse(const std::string& text);
  static bool names(const Pattern& pattern, std::string_view node);
  static bool matches(const Pattern& pattern, std::string_view node, const ResourceId& resource);

  std::string fault_;           ///< Why the patterns were not read to their end.
  std::size_t name_bytes_ = 0;  ///< Of the names of nodes in all patterns.
  std::vector<Pattern> only_;
  std::vector<Pattern> exclude_;
};

/// Pure. For a hint: "to change the other nodes without it: --exclude a". `exclusion` is what a command needs before
/// the names. It is empty, as the result is, if the command cannot leave nodes out. Empty also without names.
std::string way_without(const std::string& exclusion, const std::vector<std::string>& names);

}  // namespace sparkplan
