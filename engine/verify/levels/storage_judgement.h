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

/// Pure. What the nodes of a cluster export if no node holds what only one may hold at a time. Rival writers to a
/// volume are for plan to find; a declaration counts in any case.
std::map<std::string, NodeExports> exports_without_rivals(const Cluster& cluster, const Registry& registry);

/// Pure. What `storage` asks for on a node that is running, in a view with exports_without_rivals().
DeclaredStorage declared_storage(const ClusterView& view, const Facts& facts, const Registry& registry);

/// Pure. Compares the mount that the node shows with the declared one. The node reports its state against the unit that
/// it has, so a unit other than the declared one counts as what it mounts. The lowest fault decides.
void judge_mount(const StorageMount& mount, const DeclaredStorage& declared, const ObservedState& observed,
                 Check& check);

}  // namespace sparkplan
