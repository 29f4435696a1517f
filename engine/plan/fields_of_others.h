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

/// A field differs if its desired value is not the one in `saved`. The result has all fields of each node with such a
/// field, and of each excluded node with a planned value. If the cause is unclear, it has the differing fields alone.
/// Types without a change in `saved` are left out. Blocked resources are left out, too. So are resources whose files
/// are not as in `saved`: this node itself was changed.
FieldsOfOthers fields_reported_otherwise(const NodePlan& saved, const NodePlan& now,
                                         const std::vector<Resource>& desired, const OtherNodes& others);

/// For the stages after the first: all fields of each node that has a field beyond the displayed plan. The cause of a
/// removal is unclear, so its field is kept alone.
FieldsOfOthers fields_beyond(const NodePlan& saved, const NodePlan& now, const std::vector<Resource>& desired,
                             const OtherNodes& others);

/// Makes each of the fields an Unknown without a producer: the type settles it by what is there.
void keep_fields(std::vector<Resource>& desired, const KeptFields& kept);

}  // namespace sparkplan
