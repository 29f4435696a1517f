#pragma once

#include <vector>

#include "engine/core/ids.h"
#include "engine/domain/storage/storage.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// Pure. The node's own interfaces of the fabric and beside it, as resources of netplan, whose networks contain a
/// server of these mounts. A server is found by its IPv4 address, or by the name that `hosts` gives to a node of the
/// cluster.
std::vector<ResourceId> fabric_of_storage(const ClusterView& view, const Facts& own,
                                          const std::vector<StorageMount>& mounts);

}  // namespace sparkplan
