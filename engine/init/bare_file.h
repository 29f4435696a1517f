#pragma once

#include <optional>
#include <string>

#include "engine/init/members.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Version, name, ssh and nodes: the keys of every file. An id is written only if the node name does not end in it.
Value bare_file_of(const Members& members);

/// A file of these keys as text, without comments.
std::string plain_text(const Value& file);

/// load_cluster()'s first error for the file, printable; empty without an error.
std::string first_error_of(const Value& file, const Registry& registry);

/// The cluster that load_cluster() makes of the file; nothing if it has errors.
std::optional<Cluster> cluster_of(const Value& file, const Registry& registry);

}  // namespace sparkplan
