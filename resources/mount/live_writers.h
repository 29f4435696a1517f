#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/domain/storage/storage.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// The volumes that a node writes to, or would write to automatically, whatever cluster.yaml says. Two writers destroy
/// each other's data.
namespace sparkplan::mount {

/// I/O, read-only, no program. The node's export about volumes whose file system allows one machine only:
/// {writes: [all links to volumes that are mounted writable, and the names of volumes that our units or lines of fstab
/// would mount writable], places: {a name in `writes`: the file that names it}, served: {a name in `writes` that only a
/// device of NVMe servers has: their addresses}}. An image has no mounts.
/// Errors: files that cannot be read; kFailed for a written device without a known name; kUnsupported above 4096 names.
Result<Value> written_volumes(const NodeReader& node);

/// Pure. The shape of that export.
Shape exported_volumes();

/// Pure. An error if another node still writes to the volume that `mount` is to write to. It is a warning if only a
/// server gave the other node's device that name, and this node has the volume mounted writable. The finding then names
/// the server. Also an error if a writer is unknown: the other node was not asked, has not answered or has dropped out
/// of the run. For a node that has left the file, it is then a warning. An unknown writer is ignored if this node has
/// the volume mounted writable, or has our unit for the mount.
std::vector<Diagnostic> findings_about_writers(const ClusterView& view, const StorageMount& mount);

}  // namespace sparkplan::mount
