#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/named_enum.h"
#include "engine/load/schema.h"
#include "engine/load/unresolved_node.h"
#include "engine/model/address.h"
#include "engine/model/port_settings.h"

namespace sparkplan {

enum class Topology : std::uint8_t { kDirect, kDualCable, kRing, kSwitch, kCustom };

/// A network for fabric addresses, and its place in the file.
struct FabricSubnet {
  Ipv4Network network;
  SourceRange where;  ///< Unknown for a default.
};

/// One end of a cable: "spark-01:0".
struct CableEnd {
  std::string node;
  int port = 0;
  SourceRange where;
};

/// The id of the node at the first end numbers the cable.
struct Cable {
  CableEnd first;
  CableEnd second;
};

/// The cluster's `fabric` section with its defaults; invalid parts are left out.
struct FabricFile {
  bool present = false;
  SourceRange where;  ///< The key `fabric`.
  Topology topology = Topology::kDirect;
  SourceRange topology_where;  ///< Unknown for the default.
  int port = 1;
  SourceRange port_key;     ///< Unknown for the default.
  PortSettings ports;       ///< Of every port whose own record does not say otherwise.
  SourceRange subnets_key;  ///< Unknown if the file has no `subnets`.
  std::vector<FabricSubnet> subnets;
  bool subnets_usable = true;  ///< False after an error that prevents deriving addresses.
  SourceRange cables_key;
  std::vector<Cable> cables;
  bool cables_usable = true;
};

constexpr EnumNames<5> names_of(Topology /*topology*/) { return {"direct", "dual-cable", "ring", "switch", "custom"}; }

/// 192.168.(100 + index).0/24; nothing if no such network exists.
std::optional<Ipv4Network> default_subnet(int index);

/// network + 10 + id; nothing if that is not a host address of the network.
std::optional<Ipv4> derived_address(const Ipv4Network& network, int id);

/// The largest id that has an address in `network`; 0 if no id has one.
int largest_id(const Ipv4Network& network);

/// The default cables of a ring: port 0 of each node to port 1 of the next by id.
std::vector<Cable> ring_cables(const std::vector<UnresolvedNode>& nodes);

/// Reads the `fabric` section of the file: networks and cables parsed, defaults filled in.
FabricFile read_fabric(const Value& root, const std::vector<UnresolvedNode>& nodes, Findings& findings);

/// The rule that a topology breaks with `count` nodes: "topology direct connects exactly two nodes". Nothing if it
/// fits.
std::optional<std::string> broken_node_count(Topology topology, std::size_t count);

/// Checks the conditions for deriving addresses: the node count of the topology, two subnets per cable that do not
/// overlap, cables that form a ring. Marks a wrong number of subnets, and cables that form no ring, as unusable.
/// With a topology that the schema refuses, checks only what no topology changes.
void check_fabric_shape(const UnresolvedCluster& draft, const SchemaOutcome& schema, FabricFile& fabric,
                        Findings& findings);

/// Fills UnresolvedNode::fabric: from the node's own `interfaces`, or derived from the topology and the node's id. Also
/// fills the default topology, port and subnets into the nodes' `fabric` sections; the MTU is in the ports only.
void resolve_fabric(UnresolvedCluster& draft, FabricFile& fabric, Findings& findings);

/// The nodes at the two ends of each cable, by the topology. Only for files without errors.
std::vector<std::pair<NodeName, NodeName>> cabled_nodes(const FabricFile& fabric,
                                                        const std::vector<UnresolvedNode>& nodes);

/// An address of an interface with its prefix length, which a host can have; otherwise an error with this code.
void check_interface_address(const Value& value, const std::string& code, Findings& findings);

/// Checks `interfaces` of the nodes, the ports that are no part of the fabric: names, addresses, gateways and routes.
/// Puts them into the nodes' `fabric` sections for the netplan type, below kOtherInterfaces. After resolve_fabric().
void resolve_interfaces(UnresolvedCluster& draft, Findings& findings);

/// Checks that need all addresses: wrong or duplicate addresses, two interfaces of a node in one subnet, management
/// addresses in the fabric, unused halves.
void check_fabric(const UnresolvedCluster& draft, const FabricFile& fabric, Findings& findings);

}  // namespace sparkplan
