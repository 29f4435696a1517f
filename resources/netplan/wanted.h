#pragma once

#include <vector>

#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/resource/resource_type.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

/// An interface of the node, and what our file says about it.
struct WantedInterface {
  ObservedPort port;
  Stanza stanza;
};

struct WantedInterfaces {
  std::vector<WantedInterface> all;  ///< The fabric's first, then those of `interfaces`.
  /// Why some have no name; also a name that is in both lists, "interfaces.also-fabric", which leaves `all` empty.
  std::vector<Diagnostic> diagnostics;
};

/// Pure. The interfaces of the node's section: of the fabric, and `interfaces` beside it.
WantedInterfaces wanted_interfaces(const ClusterView& view, const Value& section, const Facts& own, Renderer renderer);

}  // namespace sparkplan::netplan
