#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/named_enum.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// The agent on a node.
enum class AgentState : std::uint8_t {
  kUnknown,  ///< The node was not asked, or did not answer.
  kNone,
  kThisBuild,
  kOtherBuild,
};
constexpr EnumNames<4> names_of(AgentState /*state*/) { return {"unknown", "none", "this_build", "other_build"}; }

/// The declared ports of a node's fabric, as they are on the node.
struct FabricState {
  std::size_t ports = 0;
  std::size_t up = 0;  ///< Enabled, and with a peer.
  std::set<int> mtus;  ///< Of all ports that the node shows.
};

/// Everything that `status` reports of a node, beside its NodeReport. Empty for a node that was not read.
struct NodeState {
  bool maintenance = false;
  AgentState agent = AgentState::kUnknown;
  std::string os;                     ///< "Ubuntu 24.04.3 LTS"
  std::string gpu_driver;             ///< "580.95.05"
  std::string nccl_version;           ///< "2.28.9"
  std::optional<FabricState> fabric;  ///< Nothing: the file declares none for the node.
  std::optional<VerifySummary> last_verify;
  std::string last_apply;  ///< RFC 3339, UTC; empty if it was never applied.
  std::size_t resources = 0;
  std::int64_t generation = 0;  ///< Of its roster.
  std::vector<RunningJob> jobs;
};

/// The outcome of `status`. Text, JSON and the exit code derive from it.
struct StatusReport {
  Report run;
  std::vector<NodeState> nodes;  ///< In the order of `run.nodes`.
};

/// Reads all nodes and plans, without writing anything to a node. A node without an agent that no roster lists was
/// never applied, or was released: it is pending, not failed.
StatusReport cluster_status(const Cluster& cluster, const Registry& registry, RunOptions options);

}  // namespace sparkplan
