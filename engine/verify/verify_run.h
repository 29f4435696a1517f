#pragma once

#include <string>
#include <vector>

#include "engine/fleet/session/fleet_session.h"
#include "engine/fleet/session/node_snapshot.h"
#include "engine/plan/report.h"
#include "engine/verify/measured_history.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The outcome of `verify`. Text, JSON, JUnit and the exit code derive from it.
struct VerifyReport {
  Report run;  ///< The nodes, diagnostics and duration.
  std::vector<Check> checks;
  std::vector<std::string> tables = {};      ///< As in VerifyContext; only for the text.
  std::vector<NodeSnapshot> snapshots = {};  ///< Of the nodes that were read; only for pages.
  /// The values that the nodes keep, with this run. Only for pages; empty without VerifyOptions::with_history.
  std::vector<NodeMeasurements> measured = {};
};

/// Connects to the selected nodes and runs the levels. The only changes on a node are its history of measurements and
/// its agent, if that is missing or of another build. An unreachable node has no checks; `run` has its error. If
/// `options.nccl` does not fit the nodes, nothing is measured, and `run` has errors that say why.
VerifyReport verify_cluster(const Cluster& cluster, const Registry& registry, RunOptions run, VerifyOptions options);

/// Pure. A failed check if no check was made, at `options.required` or else at any level: its cause lists the reasons
/// of the skipped checks and its fix what would have them made. Nothing if a check was made, or none was due.
std::optional<Check> nothing_measured(const std::vector<Check>& checks, const VerifyOptions& options);

/// Pure. Takes the thresholds of the cluster's section `verify` into `options`.
void take_thresholds(const Cluster& cluster, VerifyOptions& options);

}  // namespace sparkplan
