#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/fabric_found.h"
#include "engine/init/members.h"
#include "engine/resource/registry.h"

namespace sparkplan {

enum class FabricOrigin : std::uint8_t {
  kNone,      ///< Nothing is configured, and nothing can be proposed.
  kProposed,  ///< Nothing is configured.
  kDerived,   ///< A topology derives what is configured.
  kListed,    ///< Each node lists its own interfaces.
  kRefused    ///< No file may have what is configured, or a fabric beside it.
};

/// The `fabric` of the drafted file.
struct FabricChoice {
  FabricOrigin origin = FabricOrigin::kNone;
  Value section;                          ///< Of the cluster; null: none.
  std::map<std::string, Value> of_nodes;  ///< By node name: the node's own section.
  std::map<std::string, Value> others;    ///< By node name: the node's `interfaces` beside the fabric.
  std::string why;                        ///< For the reader of the file; one paragraph per line.
  std::vector<Diagnostic> remarks;        ///< Existing configuration that fits into no file.
};

/// Pure. Keeps the existing fabric: with the topology that derives exactly that, else with each node's own interfaces.
/// If nothing is configured, it chooses the topology that the number of nodes and the carriers of the ports suggest.
/// Configuration that no file can declare, such as one network on both halves of a port, is left out and reported. Few
/// machines that decide for the others are named. May change ids of members, so that their addresses derive from them.
FabricChoice choose_fabric(Members& members, const std::vector<FoundFabric>& found, const Registry& registry);

}  // namespace sparkplan
