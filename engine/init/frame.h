#pragma once

#include <optional>
#include <string>

#include "engine/init/members.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Version, name, ssh and nodes: what every file has. An id stands there only where the name does not end in it.
Value frame_of(const Members& members);

/// A file of these keys as text without a comment.
std::string plain_text(const Value& file);

/// What load_cluster() has against it first, printable; empty where it has no errors.
std::string first_error_of(const Value& file, const Registry& registry);

/// What load_cluster() makes of it; nothing where it has errors.
std::optional<Cluster> cluster_of(const Value& file, const Registry& registry);

}  // namespace sparkplan
