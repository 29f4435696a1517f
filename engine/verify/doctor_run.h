#pragma once

#include <string>
#include <vector>

#include "engine/doctor/examination.h"
#include "engine/fleet/cluster_run.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// Everything that `doctor` has to say. Text, JSON and the exit code all derive from this value.
struct DoctorReport {
  Report run;  ///< The nodes and how they were reached; findings; how long it took.
  std::vector<Finding> findings;
};

/// Connects to the selected nodes, reads everything of them and looks for what is known to go wrong. On the nodes
/// nothing is changed but the agent, where it is missing or of another build. A node that cannot be reached is left
/// out, and exit_code() of `run` says so.
DoctorReport diagnose_cluster(const Cluster& cluster, const Registry& registry, RunOptions run);

/// Pure. The node as examine() wants it; `facts` has to outlive it.
ExaminedNode examined_node(const NodeSpec& spec, const Facts& facts, const std::string& profile);
/// Pure. True for nodes of which each has cables to two others and no more.
bool is_ring(const Cluster& cluster);

/// Schema: schemas/doctor.schema.json.
Value to_json_value(const DoctorReport& report);
/// What is wrong first, each with what was read, its cause and what to do; then in one line what is well. Everything
/// from a node or the file passes printable().
std::string to_text(const DoctorReport& report, const TextStyle& style);

}  // namespace sparkplan
