#include "engine/fleet/planning/status_run.h"

#include <algorithm>
#include <utility>

#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/remote/programs/agent_image.h"

namespace sparkplan {
namespace {

bool is_listed(const std::string& name, const Roster& roster) {
  return std::ranges::any_of(roster.members, [&](const RosterEntry& entry) { return entry.name == name; });
}

/// The only kNotFound of a connection is a missing agent.
bool lacks_agent(const FleetNode& node) { return node.error && node.error->code == ErrorCode::kNotFound; }

std::optional<FabricState> fabric_of(const FleetNode& node, const Cluster& cluster) {
  FabricState state;
  for (const ObservedPort& port : observed_ports(*node.spec, node.known.facts, cluster.profile)) {
    ++state.ports;
    if (port.link == nullptr) continue;
    if (port.link->up && port.link->carrier) ++state.up;
    state.mtus.insert(port.link->mtu);
  }
  return state.ports == 0 ? std::nullopt : std::optional(std::move(state));
}

NodeState state_of(const FleetNode& node, const Cluster& cluster) {
  NodeState state;
  state.maintenance = node.spec->maintenance;
  if (lacks_agent(node)) state.agent = AgentState::kNone;
  if (!node.client || node.error) return state;
  state.agent = is_this_build(node.client->hello().architecture, node.client->hello().build) ? AgentState::kThisBuild
                                                                                             : AgentState::kOtherBuild;
  const Facts& facts = node.known.facts;
  state.os = facts.os_name;
  state.gpu_driver = facts.host.gpu_driver;
  state.nccl_version = facts.nccl_version;
  // An image has no links.
  if (facts.live) state.fabric = fabric_of(node, cluster);
  state.last_verify = node.known.last_verify;
  state.jobs = node.known.jobs;
  if (!node.known.manifest) return state;
  state.last_apply = node.known.manifest->last_run_time;
  state.resources = node.known.manifest->resources.size();
  if (node.roster) state.generation = node.roster->generation;
  return state;
}

}  // namespace

StatusReport cluster_status(const Cluster& cluster, const Registry& registry, RunOptions options) {
  options.agent.install = InstallPolicy::kNever;
  FleetSession session(cluster, registry, std::move(options), {.plans = true});
  PlanRun planning(session);
  planning.plan();
  StatusReport report{planning.report(), {}};
  for (const FleetNode& node : session.nodes()) {
    report.nodes.push_back(state_of(node, cluster));
    NodeReport& shown = report.run.nodes[node.place];
    if (!lacks_agent(node) || node.leaving || is_listed(node.name(), session.roster())) continue;
    shown.status = NodeStatus::kPending;
    shown.error.reset();
  }
  return report;
}

}  // namespace sparkplan
