#pragma once

#include <map>
#include <string>

#include "engine/domain/storage/storage.h"
#include "engine/model/resource.h"
#include "engine/resource/registry.h"
#include "engine/verify/check.h"
#include "engine/verify/verify_context.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// The values that cluster.yaml declares, by resource.
using DeclaredStorage = std::map<ResourceId, Value>;

/// Pure. What the nodes of a cluster export if no node holds a resource that only one node may hold. `plan` finds rival
/// writers to a volume; here a declaration always counts.
std::map<std::string, NodeExports> exports_without_rivals(const Cluster& cluster, const Registry& registry);

/// Pure. The storage that a running node should have, in a view with exports_without_rivals().
DeclaredStorage declared_storage(const ClusterView& view, const Facts& facts, const Registry& registry);

/// Pure. Compares the mount on the node with the declared mount. The node reports the state against its own unit. If
/// that is not the declared unit, it counts as the source of the mount. The lowest fault decides.
void judge_mount(const StorageMount& mount, const DeclaredStorage& declared, const ObservedState& observed,
                 Check& check);

/// Pure. How fast a mount without a complaint was read; `check` is skipped if nothing was measured.
void judge_reading(const StorageMount& mount, const ReadStorageReply& reply, Check& check);

}  // namespace sparkplan
