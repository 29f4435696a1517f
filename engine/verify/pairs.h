#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace sparkplan {

using NodePair = std::pair<std::size_t, std::size_t>;  ///< Places in a list of nodes, the smaller first.

/// Pure. All pairs of `count` things, in rounds of pairs that have nothing in common: as few rounds as
/// there can be, count - 1 for an even number.
std::vector<std::vector<NodePair>> rounds_of_pairs(std::size_t count);

/// Calls `work` for every pair, the pairs of one round at the same time but at most `at_once` of them,
/// and one round after the other, so that a node is never in the hands of two threads. Not called any
/// more once `stopped()` is true. `work` may not throw.
void in_rounds(std::size_t count, std::size_t at_once, const std::function<void(std::size_t, std::size_t)>& work,
               const std::function<bool()>& stopped);

}  // namespace sparkplan
