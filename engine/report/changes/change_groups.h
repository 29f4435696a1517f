#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/report/changes/change_text.h"

// Pure. The changes of all nodes by resource: what several nodes have in common is there once.

namespace sparkplan {

/// A longer list of all nodes is "all 8 nodes".
inline constexpr std::size_t kWidestNodes = 32;

/// A change that is the same on some nodes.
struct ChangeGroup {
  ChangeText text;
  std::vector<std::string> nodes;  ///< In the order of the report.
};

/// Values that differ from node to node.
struct NodeTable {
  struct Column {
    std::string name;                          ///< Of the resource.
    std::string label;                         ///< Of the field; may be empty.
    std::map<std::string, std::string> cells;  ///< By node. Nodes without the field have none.
  };
  std::vector<Column> columns;
};

struct GroupedChanges {
  std::vector<ChangeGroup> groups;  ///< By resource, in the order of the plans.
  NodeTable table;
};

/// `changes` are those of the nodes, in the order of `nodes`. A field of a resource moves to the table if it has three
/// values or more. It stays if its values are a series, as the nodes' names are: "10.1.0.[1-8] one each". With
/// `outcome` there is no table, and two different values are enough to show only the field's name. Resources whose
/// names and values differ in one number become one line, except with `style.verbose`. So do five new resources or more
/// that differ only in their names.
GroupedChanges group_changes(const std::vector<std::string>& nodes, std::vector<std::vector<ChangeText>> changes,
                             bool outcome, const TextStyle& style);

}  // namespace sparkplan
