#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// One fabric half of a node together with the interface that it is.
struct FabricInterface {
  std::string name;      ///< "enp1s0f1np1"
  FabricAddress wanted;  ///< As cluster.yaml has it, derived or given.
  /// The RDMA devices of the link; for a Spark's port that is not shown, what DGX OS calls them.
  std::vector<std::string> hcas;
  const LinkFacts* link = nullptr;  ///< Points into the facts; null when the node does not show it.
  /// Why there is no link, where that is no mistake: an image, a port that is powered off for lack
  /// of a cable. Empty when the link is there.
  std::string absent_because;
};

struct FabricInterfaces {
  std::vector<FabricInterface> interfaces;  ///< In the order of NodeSpec::fabric; only those that could be named.
  std::vector<Diagnostic> diagnostics;      ///< For each half that could not.
};

/// Pure. The interfaces of a node's fabric: those the file names, else both halves of the QSFP port,
/// found by phys_port_name, else by the end of the name ("...np1"), half A first by PCI address. A
/// Spark without a cable does not show its port at all; its interfaces then have the well-known names.
FabricInterfaces fabric_interfaces(const NodeSpec& node, const Facts& facts, const std::string& profile);

}  // namespace sparkplan
