#pragma once

#include <vector>

#include "engine/doctor/examination.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/fleet/session/node_snapshot.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// The outcome of `doctor`. Text, JSON and the exit code derive from it.
struct DoctorReport {
  Report run;  ///< The nodes, diagnostics and duration.
  std::vector<Finding> findings;
  std::vector<NodeSnapshot> snapshots = {};  ///< Of the nodes that were read; only for pages.
};

/// Connects to the selected nodes, reads their facts and decides every row. The only change on a node is its agent, if
/// that is missing or of another build. An unreachable node has no findings; `run` has its error.
DoctorReport diagnose_cluster(const Cluster& cluster, const Registry& registry, RunOptions run);

/// Pure. True if each node has cables to exactly two others.
bool is_ring(const Cluster& cluster);

}  // namespace sparkplan
