#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

/// Whether a file with only the kept parts can be loaded.
using LoadsWith = std::function<bool(const std::vector<bool>& kept)>;

/// Pure. Of `count` parts, those with which the file can be loaded. None if it cannot be loaded without any. Each part
/// that is left out costs as many calls of `loads` as the logarithm of `count`.
std::vector<bool> loadable_parts(std::size_t count, const LoadsWith& loads);

}  // namespace sparkplan
