#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/model/cluster.h"
#include "engine/plan/report.h"
#include "engine/tune/candidates.h"
#include "engine/tune/search.h"

namespace sparkplan {

/// No pair takes less: each of its two runs starts a process on each node, loads NCCL and joins the ranks.
inline constexpr std::chrono::seconds kShortestTuneBudget{30};

struct TuneOptions {
  std::chrono::milliseconds budget{std::chrono::minutes(20)};
  bool force = false;  ///< Also with jobs on the nodes, and with programs on their GPUs.
};

/// The outcome of `tune`. Text, JSON, YAML and the exit code derive from it.
struct TuneReport {
  Report run;  ///< The nodes, diagnostics and duration.
  std::chrono::milliseconds budget{0};
  std::vector<std::string> nodes = {};  ///< The nodes that take part.
  int ranks = 0;                        ///< One per GPU.
  std::string nccl;                     ///< "2.28.9"; empty if no run was made.
  std::string network;                  ///< As NcclTransport::network.
  std::string limit = {};               ///< memory_limit_of() the first run: larger messages were not measured.
  TuneCandidates candidates;
  TuneSearch search;
  std::optional<Error> trouble = {};  ///< Why nothing more was measured; with it, nothing is proposed.

  /// The variables to add to `nccl: env`; empty if no setting is better for certain.
  NcclVariables proposed() const { return trouble ? NcclVariables() : search.accepted; }
};

/// Measures NCCL on all GPUs of the selected nodes, with the settings of cluster.yaml and with candidates beyond them.
/// On a node it writes only the agent and the program of the NCCL test, if they are missing or of another build.
/// Nothing is measured if a node is missing or, unless forced, in use.
TuneReport tune_cluster(const Cluster& cluster, const Registry& registry, RunOptions run, const TuneOptions& options);

}  // namespace sparkplan
