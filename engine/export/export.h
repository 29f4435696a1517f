#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The formats that export_cluster() knows, in the order of the manual.
std::vector<std::string> export_formats();

/// Pure. The cluster as another tool wants it, made from its file alone: no node is asked. Nodes with
/// transport local are no hosts, and are left out.
/// Errors: kInvalidInput for a format that there is not, when no node is left, or where a setting has control
/// characters or invisible ones, which would mean something else to whoever reads the text.
Result<std::string> export_cluster(const Cluster& cluster, std::string_view format, const Registry& registry);

}  // namespace sparkplan
