#pragma once

#include <string>
#include <vector>

#include "engine/fleet/cluster_run.h"
#include "engine/plan/report.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The outcome of `verify`. Text, JSON, JUnit and the exit code derive from it.
struct VerifyReport {
  Report run;  ///< The nodes, diagnostics and duration.
  std::vector<Check> checks;
  std::vector<std::string> tables = {};  ///< As in VerifyContext; only for the text.
};

/// Connects to the selected nodes and runs the levels. The only changes on a node are its history of measurements and
/// its agent, if that is missing or of another build. An unreachable node has no checks; `run` has its error.
VerifyReport verify_cluster(const Cluster& cluster, const Registry& registry, RunOptions run, VerifyOptions options);

/// Pure. Takes the thresholds of the cluster's section `verify` into `options`.
void take_thresholds(const Cluster& cluster, VerifyOptions& options);

}  // namespace sparkplan
