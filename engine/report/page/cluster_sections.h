#pragma once

#include <vector>

#include "engine/fleet/session/node_snapshot.h"
#include "engine/markup/cabling_drawing.h"
#include "engine/model/cluster.h"
#include "engine/report/page/page.h"
#include "engine/verify/check.h"

namespace sparkplan {

/// Pure. The declared cables, each as good as the interfaces at its ends.
DrawnCabling cabling_with(const Cluster& cluster, const std::vector<NodeSnapshot>& snapshots);

/// Pure. The same, judged by the checks of links, cables, MTU, TCP and RDMA. A wire to a switch fails if all checks
/// with other nodes fail, and is a warning if some do.
DrawnCabling cabling_with(const Cluster& cluster, const std::vector<NodeSnapshot>& snapshots,
                          const std::vector<Check>& checks);

/// Adds a section with the drawing and a table of its wires. Nothing without a wire.
void add_cabling(Page& page, const DrawnCabling& cabling);

/// Adds a section with the versions on each node. A version that differs from most nodes is marked.
void add_versions(Page& page, const std::vector<NodeSnapshot>& snapshots);

}  // namespace sparkplan
