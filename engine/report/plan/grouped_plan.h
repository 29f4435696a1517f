#pragma once

#include <string>
#include <vector>

#include "engine/report/changes/change_groups.h"

// Pure. A plan for pages and pull requests: the changes as the terminal groups them, by type.

namespace sparkplan {

/// The changes of one resource type, in the order of the plans.
struct TypeChanges {
  std::string type;
  std::vector<ChangeGroup> groups;
};

/// Changes, foreign settings and blocked resources.
struct GroupedPlan {
  std::vector<TypeChanges> types;
  NodeTable table;  ///< Values that differ from node to node.
  std::vector<ChangeGroup> blocked;
};

/// Pure. Nodes with the same change share a group.
GroupedPlan grouped_plan(const Report& report);

/// "add", "change", "remove" or "foreign".
std::string_view word_of_symbol(char symbol);

/// The fields and marks of a change as one text: "1500 -> 9000 [interrupts network]".
std::string change_words(const ChangeText& text);

/// The state of a node in a table: "pending, joining".
std::string state_words(const NodeReport& node);

/// The nodes of a group: "spark-[01-08]".
std::string nodes_of(const ChangeGroup& group);

}  // namespace sparkplan
