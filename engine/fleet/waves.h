#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// A node's steps by what they can do to it.
struct SplitSteps {
  std::vector<Step> safe;
  std::vector<Step> disruptive;  ///< Those that may cut it off, and what shares a group with them.
};

/// Pure. Calm steps that need something of the disruptive ones are left out, and so is what needs those: the stage
/// after plans them. So are disruptive ones that need what has failed.
SplitSteps split_steps(const std::vector<Step>& steps, const std::set<ResourceId>& failed);

/// Pure. Names that the cables join, directly or through others of `names`, in the order of `names`.
std::vector<std::vector<std::string>> coupled(const std::vector<std::string>& names,
                                              const std::vector<std::pair<NodeName, NodeName>>& cables);

/// Pure. Who is changed at the same time: first the canary, alone but for those at the other ends of its
/// cables; then all others, at most `at_a_time` nodes together where cables allow it (0: no limit).
std::vector<std::vector<std::string>> waves(const std::vector<std::string>& names,
                                            const std::vector<std::pair<NodeName, NodeName>>& cables,
                                            std::size_t at_a_time);

}  // namespace sparkplan
