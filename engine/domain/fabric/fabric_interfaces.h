#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// One half of a port as declared and as the node shows it.
struct ObservedPort : FabricPort {
  /// The RDMA devices of the link; for a Spark's port that is not shown, the names that DGX OS gives them.
  std::vector<std::string> hcas = {};
  const LinkFacts* link = nullptr;  ///< Points into the facts; null when the node does not show it.
  /// Why there is no link. Without a finding this is no mistake: an image, or a port that is powered off for lack of
  /// a cable.
  std::string absent_because = {};
};

struct FabricInterfaces {
  std::vector<ObservedPort> interfaces;  ///< In the order of NodeSpec::fabric; only those that could be named.
  std::vector<Diagnostic> diagnostics;   ///< For each half that could not.
};

/// Pure. The interfaces of a node's fabric: those the file names, else both halves of the QSFP port,
/// found by phys_port_name, else by the end of the name ("...np1"), half A first by PCI address. A
/// Spark without a cable does not show its port at all; its interfaces then have the well-known names.
FabricInterfaces fabric_interfaces(const NodeSpec& node, const Facts& facts, const std::string& profile);

/// Pure. All declared halves, in the order of NodeSpec::fabric. One that could not be named has no interface, and the
/// findings as its `absent_because`. A link-local half has the address that the node shows.
std::vector<ObservedPort> observed_ports(const NodeSpec& node, const Facts& facts, const std::string& profile);

}  // namespace sparkplan
