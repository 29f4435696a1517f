#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/ids.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"

// Fields of a node's resource that follow from what another node reports: "authorized.n3" follows from the node n3.
// Only resources with Resource::known_part_first have such fields, so one of them can stay as it is on the node while
// the others change. All functions are pure.

namespace sparkplan {

/// The paths of the fields that stay as the node has them, by resource.
using KeptFields = std::map<ResourceId, std::set<std::string>>;

/// The other nodes of cluster.yaml, by their names.
struct OtherNodes {
  std::set<std::string> taking_part;
  std::set<std::string> excluded;  ///< Their exports do not count.
};

/// Fields to keep, and the nodes that they follow from.
struct FieldsOfOthers {
  std::set<std::string> nodes;    ///< They report other data, or take no part.
  std::set<std::string> unclear;  ///< Another node's data or an edit on this node may be the cause, too.
  KeptFields fields;
};

/// The other node that the field follows from; empty for other fields.
std::string_view node_of_field(std::string_view path);

/// All fields of each node that has one field with another desired value than in `saved`, and of each excluded node
/// with a planned value. Where the cause is unclear, only the fields that differ. Only for types of which `saved` shows
/// a change. Two kinds of resources say nothing about other nodes: blocked ones, and those of which an artifact has
/// another state than in `saved`, because this node itself was changed.
FieldsOfOthers fields_reported_otherwise(const NodePlan& saved, const NodePlan& now,
                                         const std::vector<Resource>& desired, const OtherNodes& others);

/// For the stages after the first: all fields of each node of which one field exceeds the displayed plan. Of a removal,
/// whose cause is unclear, only the field itself.
FieldsOfOthers fields_beyond(const NodePlan& saved, const NodePlan& now, const std::vector<Resource>& desired,
                             const OtherNodes& others);

/// Makes each of the fields an Unknown without a producer: the type settles it by what is there.
void keep_fields(std::vector<Resource>& desired, const KeptFields& kept);

}  // namespace sparkplan
