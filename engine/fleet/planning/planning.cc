#include "engine/fleet/planning/planning.h"

#include <utility>

#include "engine/fleet/session/node_report.h"
#include "engine/fleet/session/run_identity.h"

namespace sparkplan {

void PlannedNode::keep_to_approved() {
  std::erase_if(plan.steps, [&](const Step& step) { return !outcomes.approves(step); });
}

void Planning::begin() {
  for (FleetNode& node : session_.nodes()) nodes_.emplace_back(node);
}

NodeReport Planning::report_on(const PlannedNode& node) const {
  return sparkplan::report_on(node.node, node.plan, session_.roster());
}

Report Planning::report() const {
  return session_.report([&](const FleetNode& node) { return report_on(nodes_[node.place]); }, findings_);
}

Result<SavedPlan> Planning::save(Report report) const {
  SavedPlan saved;
  SPARK_TRY(saved.id, new_uuid());
  saved.created = this_controller(session_.options().command).since;
  for (const auto& node : session_.nodes()) {
    if (node.error || !node.client) continue;
    saved.machines[node.name()] = {node.known.facts.machine_id, node.client->host_key()};
  }
  saved.report = std::move(report);
  return saved;
}

}  // namespace sparkplan
