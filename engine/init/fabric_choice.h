#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/fabric_found.h"
#include "engine/init/members.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The `fabric` of the file in the making.
struct FabricChoice {
  Value section;                          ///< Of the cluster; null: there is none.
  std::map<std::string, Value> of_nodes;  ///< By node name: what a node says itself.
  std::string why;                        ///< For the reader of the file; one paragraph to a line.
  std::vector<Diagnostic> remarks;        ///< What is there and fits into no file.
};

/// Pure. What is there is kept: the topology that derives just that, else each node's own interfaces. Where nothing
/// is there, the topology that the number of nodes and the carriers of the ports speak for. What no file can say, as
/// one network on both halves of a port, is left out and told. May give members ids that their addresses are derived
/// from.
FabricChoice choose_fabric(Members& members, const std::vector<FoundFabric>& found, const Registry& registry);

}  // namespace sparkplan
