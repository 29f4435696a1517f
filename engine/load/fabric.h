#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/load/address.h"
#include "engine/load/unresolved_node.h"

namespace sparkplan {

enum class Topology : std::uint8_t { kDirect, kDualCable, kRing, kSwitch, kCustom };

/// A network that addresses are taken from, and where the file names it.
struct FabricSubnet {
  Ipv4Network network;
  SourceRange where;  ///< Unknown when it is a default.
};

/// One end of a cable: "spark-01:0".
struct CableEnd {
  std::string node;
  int port = 0;
  SourceRange where;
};

/// The end named first is the one whose node's id numbers the cable.
struct Cable {
  CableEnd first;
  CableEnd second;
};

/// The cluster's `fabric` section with its defaults, as far as the file gets it right.
struct FabricFile {
  bool present = false;
  SourceRange where;  ///< The key `fabric`.
  Topology topology = Topology::kDirect;
  SourceRange topology_where;  ///< Unknown when it is the default.
  int port = 1;
  SourceRange port_key;  ///< Unknown when it is the default.
  std::optional<int> mtu;
  bool link_local = false;
  SourceRange subnets_key;  ///< Unknown when the file has no `subnets`.
  std::vector<FabricSubnet> subnets;
  bool subnets_usable = true;  ///< False after a finding about them: nothing is derived.
  SourceRange cables_key;
  std::vector<Cable> cables;
  bool cables_usable = true;
};

/// "direct", "dual-cable", "ring", "switch", "custom".
std::string_view to_string(Topology topology);

/// 192.168.(100 + index).0/24; nothing when there is no such network.
std::optional<Ipv4Network> default_subnet(int index);

/// network + 10 + id; nothing when that is not a host address of the network any more.
std::optional<Ipv4> derived_address(const Ipv4Network& network, int id);

/// The largest id that has an address in `network`; 0 when none has.
int largest_id(const Ipv4Network& network);

/// The cables of a ring whose file names none: port 0 of each node to port 1 of the next by id.
std::vector<Cable> ring_cables(const std::vector<UnresolvedNode>& nodes);

/// Reads the `fabric` section of the file: networks and cables parsed, defaults filled in.
FabricFile read_fabric(const Value& root, const std::vector<UnresolvedNode>& nodes, Findings& findings);

/// What has to hold before addresses can be derived: the node count of the topology, two subnets per
/// cable that do not overlap, cables that form a ring. Marks as unusable what does not.
void check_fabric_shape(const UnresolvedCluster& draft, FabricFile& fabric, Findings& findings);

/// Fills UnresolvedNode::fabric: what a node's own `interfaces` say, else what the topology derives from
/// the node's id; and the defaults into the nodes' `fabric` sections.
void resolve_fabric(UnresolvedCluster& draft, FabricFile& fabric, Findings& findings);

/// Who is at the two ends of each cable, by the topology. Only for files without errors.
std::vector<std::pair<NodeName, NodeName>> cabled_nodes(const FabricFile& fabric,
                                                        const std::vector<UnresolvedNode>& nodes);

/// What shows once all addresses are known: wrong or clashing addresses, two interfaces of a node in
/// one subnet, management addresses in the fabric, halves left unused.
void check_fabric(const UnresolvedCluster& draft, const FabricFile& fabric, Findings& findings);

}  // namespace sparkplan
