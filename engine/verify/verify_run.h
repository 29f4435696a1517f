#pragma once

#include <string>
#include <vector>

#include "engine/fleet/cluster_run.h"
#include "engine/plan/report.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Everything that `verify` has to say. Text, JSON, JUnit and the exit code all derive from this value.
struct VerifyReport {
  Report run;  ///< The nodes and how they were reached; findings; how long it took.
  std::vector<Check> checks;
  std::vector<std::string> tables = {};  ///< As in VerifyContext; in the text only.
};

/// Connects to the selected nodes and climbs the ladder. On the nodes nothing is changed but the agent,
/// where it is missing or of another build, and the history of measurements. A node that cannot be
/// reached is left out, and exit_code() of `run` says so.
VerifyReport verify_cluster(const Cluster& cluster, const Registry& registry, RunOptions run, VerifyOptions options);

/// Pure. The thresholds of the cluster's section `verify`, put into `options`.
void take_thresholds(const Cluster& cluster, VerifyOptions& options);

/// How many checks ended how.
struct CheckCounts {
  std::size_t pass = 0, warn = 0, fail = 0, skip = 0;
};
CheckCounts count(const std::vector<Check>& checks);

/// The JSON of `verify`. Schema: schemas/verify.schema.json.
Value to_json_value(const VerifyReport& report);
/// One line for all checks of which the same is to be said, failures last, then the counts and, for what
/// was measured between pairs, a matrix. Everything from a node or the file passes printable().
std::string to_text(const VerifyReport& report, const TextStyle& style);
/// JUnit XML: one suite per level, one case per check.
std::string to_junit(const VerifyReport& report);

}  // namespace sparkplan
