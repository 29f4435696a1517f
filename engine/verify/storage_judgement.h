#pragma once

#include <map>
#include <string>

#include "engine/model/resource.h"
#include "engine/resource/registry.h"
#include "engine/resource/storage.h"
#include "engine/verify/check.h"
#include "engine/verify/scene.h"

namespace sparkplan {

/// The values that cluster.yaml asks for, by resource.
using DeclaredStorage = std::map<ResourceId, Value>;

/// Pure. What `storage` asks for on a node that is running.
DeclaredStorage declared_storage(const Cluster& cluster, const NodeSpec& node, const Facts& facts,
                                 const Registry& registry);

/// Pure. Is the mount as declared, by what its node shows? The state that a node tells is held against the unit that
/// it has: one that is not the declared one counts as what it mounts. The lowest thing that is wrong decides.
void judge_mount(const StorageMount& mount, const DeclaredStorage& declared, const ObservedState& observed,
                 Check& check);

}  // namespace sparkplan
