#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace sparkplan {

using NodePair = std::pair<std::size_t, std::size_t>;  ///< Indexes into a list of nodes, the smaller first.

/// Pure. All pairs of `count` things, in rounds of disjoint pairs. The number of rounds is the minimum: count - 1 for
/// an even number.
std::vector<std::vector<NodePair>> rounds_of_pairs(std::size_t count);

/// Calls `work` for every pair. Pairs of one round run at the same time, at most `at_once` of them. The rounds run one
/// after the other, so that no two threads use the same node. It makes no more calls after `stopped()` returns true.
/// Between two rounds it calls `between`, while no `work` runs. Neither function may throw.
void in_rounds(
    std::size_t count, std::size_t at_once, const std::function<void(std::size_t, std::size_t)>& work,
    const std::function<bool()>& stopped, const std::function<void()>& between = [] {});

}  // namespace sparkplan
