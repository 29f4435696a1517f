#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/cluster.h"

namespace sparkplan {

/// A network path from one node to the next: the addresses of both ends.
struct AddressPair {
  std::string from;
  std::string to;

  bool operator==(const AddressPair&) const = default;
};

/// Pure. The fabric addresses over which two nodes reach each other: one pair per half that both have in one network.
/// Empty if the fabric does not join them, or only with link-local addresses.
std::vector<AddressPair> fabric_paths(const Cluster& cluster, const NodeSpec& from, const NodeSpec& to);

/// Pure. From whom each node receives, by its place in `nodes`: nothing for the source and for a node that the fabric
/// does not reach. With a switch the nodes form one chain in their order. With cables, each node receives from the
/// neighbour that is nearest to the source; a ring becomes two chains.
std::vector<std::optional<std::size_t>> senders(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes,
                                                std::size_t source);

}  // namespace sparkplan
