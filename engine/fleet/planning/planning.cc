#include "engine/fleet/planning/planning.h"

#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/fleet/planning/waves.h"
#include "engine/fleet/session/node_report.h"
#include "engine/fleet/session/run_identity.h"

namespace sparkplan {
namespace {

/// Shown with the plan, before the user agrees to it.
std::optional<Diagnostic> job_warning(const PlannedNode& planned) {
  const FleetNode& node = planned.node;
  if (!node.active() || node.known.jobs.empty() || !(is_disruptive(planned.plan) || node.leaving)) return std::nullopt;
  const Error refusal = busy_with(node.known.jobs);
  auto warning = finding(Severity::kWarning, "node.job", refusal.message, refusal.hint);
  warning.node = node.name();
  return warning;
}

}  // namespace

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
  return report([&](const FleetNode& node) { return report_on(nodes_[node.place]); });
}

Report Planning::take_report() {
  for (PlannedNode& planned : nodes_) {
    planned.desired = {};
    planned.observed = {};
    planned.node.drop_managed();
  }
  return report([&](const FleetNode& node) {
    return sparkplan::report_on(node, std::exchange(nodes_[node.place].plan, {}), session_.roster());
  });
}

Report Planning::report(const std::function<NodeReport(const FleetNode&)>& describe) const {
  auto findings = findings_;
  const std::string& command = session_.options().command;
  const bool changes = command == "plan" || command == "apply" || command == "release" || command == "rollback";
  for (const PlannedNode& node : nodes_) {
    if (auto warning = changes ? job_warning(node) : std::nullopt) findings.push_back(*std::move(warning));
  }
  return session_.report(describe, findings);
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
