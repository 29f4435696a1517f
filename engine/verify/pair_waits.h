#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The most that one other node counts in the sum of a node's lost time. So one or two nodes alone never have another
/// node left out, whatever they do or claim.
inline constexpr std::chrono::seconds kMostForPartner{25};

/// Calls `work` for all pairs of context.nodes in rounds, until a stop. `planned` is the longest time of a pair without
/// a fault or a load; 0: the pair has nothing to measure, and `work` is not called. What a pair takes beyond that is
/// lost time of both nodes: the controller cannot know which of them delays the other. A pair for which neither node
/// is asked has no part in that. Between two rounds it calls
/// leave_out_of_pairs(): `work` then finds those nodes by VerifyNode::can_be_paired().
void measure_pairs(VerifyContext& context,
                   const std::function<std::chrono::milliseconds(std::size_t, std::size_t)>& planned,
                   const std::function<void(std::size_t, std::size_t)>& work);

/// Sets PairWaits::kept of each node whose lost time exceeds the median of all nodes by kLateAllowance. Beside the
/// median, a network or a controller that is slow for all has no node left out. Time lost with a node that is left out
/// no longer counts for the others.
void leave_out_of_pairs(VerifyContext& context);

}  // namespace sparkplan
