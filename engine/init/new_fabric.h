#pragma once

#include "engine/init/fabric_choice.h"
#include "engine/init/members.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Pure. For machines without a fabric: the topology that the number of nodes and the carriers of the ports suggest.
/// Writes it into `choice`, or the reason why the file has none. The reason names each machine without which a better
/// proposal would fit.
void propose_fabric(const Members& members, const Registry& registry, FabricChoice& choice);

}  // namespace sparkplan
