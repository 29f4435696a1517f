#pragma once

#include <map>
#include <string>

#include "engine/domain/storage/storage.h"
#include "engine/model/resource.h"
#include "engine/resource/registry.h"
#include "engine/verify/check.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The values that cluster.yaml asks for, by resource.
using DeclaredStorage = std::map<ResourceId, Value>;

/// Pure. What the nodes of a cluster tell each other where none has what only one may have at a time. Whether somebody
/// else writes to a volume is for plan to find; a declaration is one in any case.
std::map<std::string, NodeExports> exports_without_rivals(const Cluster& cluster, const Registry& registry);

/// Pure. What `storage` asks for on a node that is running, in a view with exports_without_rivals().
DeclaredStorage declared_storage(const ClusterView& view, const Facts& facts, const Registry& registry);

/// Pure. Is the mount as declared, by what its node shows? The state that a node tells is held against the unit that
/// it has: one that is not the declared one counts as what it mounts. The lowest thing that is wrong decides.
void judge_mount(const StorageMount& mount, const DeclaredStorage& declared, const ObservedState& observed,
                 Check& check);

}  // namespace sparkplan
