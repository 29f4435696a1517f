#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// A node's steps, by their effect on the connection.
struct SplitSteps {
  std::vector<Step> safe;
  std::vector<Step> disruptive;  ///< Steps that may cut off the node, and all steps of their groups.
};

/// Pure. Leaves out safe steps that need a disruptive one, directly or through others: the stage after plans them. Also
/// leaves out disruptive steps that need a failed change. The steps move into the result: they may be megabytes.
SplitSteps split_steps(std::vector<Step> steps, const std::set<ResourceId>& failed);

/// Pure. At least one step of the plan may cut off the node.
bool is_disruptive(const NodePlan& plan);

/// Pure. The most stages that an apply of these plans may take, so that no node prolongs a run without end. Each type
/// with waiting changes may become known in one stage, with disruptive steps first and their dependents in the stage
/// after. kStagesForFailures are added: each failure may let the other steps of its group be tried again.
std::size_t most_stages(const std::vector<const NodePlan*>& plans);
inline constexpr std::size_t kStagesForFailures = 16;

/// Pure. The groups of names that cables join, directly or through others of `names`, in the order of `names`.
std::vector<std::vector<std::string>> coupled(const std::vector<std::string>& names,
                                              const std::vector<std::pair<NodeName, NodeName>>& cables);

/// Pure. Nodes that change at the same time. First comes the canary with the nodes at the other ends of its cables.
/// Then come all others, at most `at_a_time` together (0: no limit). Cables may make a wave larger.
std::vector<std::vector<std::string>> waves(const std::vector<std::string>& names,
                                            const std::vector<std::pair<NodeName, NodeName>>& cables,
                                            std::size_t at_a_time);

}  // namespace sparkplan
