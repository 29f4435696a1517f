#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The formats of export_cluster(), in the order of the manual.
std::vector<std::string> export_formats();

/// The text for the other tool, and remarks for the user: values that the file alone does not give.
struct ExportedText {
  std::string text;
  std::vector<std::string> remarks = {};
};

/// Pure. The cluster in the format of another tool, made from its file alone: no node is contacted. Nodes with
/// transport local are not hosts, and are left out. `selects` leaves out others; the size of the job and the address of
/// its first node are still those of the whole cluster.
/// Errors: kInvalidInput for an unknown format or when no node is left. Also for a setting with control or invisible
/// characters, which the other tool might read differently.
Result<ExportedText> export_cluster(const Cluster& cluster, std::string_view format, const Registry& registry,
                                    const std::function<bool(const NodeSpec&)>& selects = {});

}  // namespace sparkplan
