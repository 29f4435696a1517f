#pragma once

#include <vector>

#include "engine/core/ids.h"
#include "engine/domain/storage/storage.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// Pure. The node's own fabric interfaces, as resources of netplan, in whose networks a server of these mounts is: by
/// its IPv4 address, or by the name that `hosts` gives to a node of the cluster.
std::vector<ResourceId> fabric_of_storage(const ClusterView& view, const Facts& own,
                                          const std::vector<StorageMount>& mounts);

}  // namespace sparkplan
