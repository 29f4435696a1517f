#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/domain/storage/storage.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// Who writes to a volume at this moment or will by itself, whatever the file says: of two, one destroys what the other
/// writes.
namespace sparkplan::mount {

/// I/O, read-only, no program. What a node tells the others of volumes with file systems for one machine:
/// {writes: [all links to those that it has mounted writable, and the names of those that a unit of ours or a line of
/// fstab would mount so], places: {a name among these: the file that says so}}. In an image nothing is mounted.
/// Errors: what could not be looked at, and a device that is written to and has no name that anybody could tell.
Result<Value> written_volumes(const NodeReader& node);

/// Pure. The shape of it.
Shape exported_volumes();

/// Pure. An error where another node still writes to what `mount` is to write to. Also where nobody can tell, as a node
/// was not asked, has not answered or takes no further part, while this one neither has it mounted writable nor has its
/// unit for that mount; a warning then for a node that has left the file.
std::vector<Diagnostic> findings_about_writers(const ClusterView& view, const StorageMount& mount);

}  // namespace sparkplan::mount
