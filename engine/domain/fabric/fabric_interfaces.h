#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// One half of a port: its declaration, and its state on the node.
struct ObservedPort : FabricPort {
  /// The RDMA devices of the link. If a Spark does not show the port, the names that DGX OS gives them.
  std::vector<std::string> hcas = {};
  const LinkFacts* link = nullptr;  ///< Points into the facts; null if the node does not show it.
  /// Why there is no link; empty with one. Without a diagnostic it is no mistake: the node is an image, or the port is
  /// powered off because it has no cable.
  std::string absent_because = {};
};

struct FabricInterfaces {
  std::vector<ObservedPort> interfaces;  ///< In the order of NodeSpec::fabric; only halves with a name.
  std::vector<Diagnostic> diagnostics;   ///< Reasons for the halves without a name.
};

/// Pure. The interfaces of a node's fabric: the declared names, otherwise both halves of the QSFP port. They are found
/// by phys_port_name, otherwise by the end of the name ("...np1"), half A first by PCI address. A Spark without a cable
/// does not show its port; its interfaces then have the well-known names.
FabricInterfaces fabric_interfaces(const NodeSpec& node, const Facts& facts, const std::string& profile);

/// The key below which a node's section `fabric` has its `interfaces`, the ports that are no part of the fabric: the
/// netplan type configures both.
inline constexpr const char* kOtherInterfaces = "other_interfaces";

/// Pure. As fabric_interfaces(), for the ports of `interfaces`. In their order; `half` is the place in the list.
FabricInterfaces other_interfaces(const NodeSpec& node, const Facts& facts, const std::string& profile);

/// Pure. The names in the node's `interfaces`.
std::vector<std::string> other_interface_names(const NodeSpec& node);

/// Pure. The RDMA devices that the file names for a node: `fabric: {hcas: [...]}`.
std::vector<std::string> declared_hcas(const NodeSpec& node);

/// True if the node is part of a fabric, even of one without interfaces.
bool declares_fabric(const NodeSpec& node);

/// Pure. All declared halves, in the order of NodeSpec::fabric. A half without a known name has an empty interface, and
/// the diagnostics as its `absent_because`. A link-local half without a declared address has the one found on the node.
std::vector<ObservedPort> observed_ports(const NodeSpec& node, const Facts& facts, const std::string& profile);

}  // namespace sparkplan
