#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The formats of export_cluster(), in the order of the manual.
std::vector<std::string> export_formats();

/// Pure. The cluster in the format of another tool, made from its file alone: no node is contacted. Nodes with
/// transport local are not hosts, and are left out.
/// Errors: kInvalidInput for an unknown format or when no node is left. Also for a setting with control or invisible
/// characters, which the other tool might read differently.
Result<std::string> export_cluster(const Cluster& cluster, std::string_view format, const Registry& registry);

}  // namespace sparkplan
