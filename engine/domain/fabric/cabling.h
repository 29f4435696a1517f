#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/cluster.h"

/// The cables of a cluster as its file declares them. Everything here is pure.
namespace sparkplan {

/// One half of a node's port at the end of a wire: places in Cluster::nodes and NodeSpec::fabric.
struct WireEnd {
  std::size_t node = 0;
  std::size_t half = 0;

  bool operator==(const WireEnd&) const = default;
};

/// A half's way to one other half, or to the switch.
struct Wire {
  WireEnd from;
  std::optional<WireEnd> to;  ///< Nothing: the switch.

  bool operator==(const Wire&) const = default;
};

/// "switch", "ring" and so on; empty without a fabric.
std::string topology_of(const Cluster& cluster);

/// The wires of the topology, in the order of the cables or of the nodes. None if the file names no cable and no
/// switch.
std::vector<Wire> declared_wires(const Cluster& cluster);

/// The declared name of the interface, or "port 1 half A".
std::string half_name(const NodeSpec& node, const FabricPort& port);

/// "192.168.100.11/24", "link-local" or "no address".
std::string address_or_kind(const FabricPort& port);

}  // namespace sparkplan
