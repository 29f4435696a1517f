#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/fabric_found.h"
#include "engine/init/members.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Pure. The cluster of a file with these members and this `fabric`; nothing if that file is not valid.
std::optional<Cluster> cluster_with_fabric(const Members& members, const Value& section, const Registry& registry);

/// Pure. The interfaces that the file derives for a node; nothing if one of them cannot be derived.
std::optional<std::vector<FoundInterface>> derived_interfaces(const NodeSpec& node, const Facts& facts);

/// The warning that the drafted file has no fabric.
Diagnostic no_fabric_remark(const std::string& why);

}  // namespace sparkplan
