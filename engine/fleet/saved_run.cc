// Plans as files: what is put into one, and an apply that keeps to one.
#include <algorithm>
#include <utility>

#include "engine/core/finding.h"
#include "engine/fleet/cluster_run.h"
#include "engine/fleet/run_identity.h"
#include "engine/plan/held_plan.h"
#include "engine/plan/reach.h"

namespace sparkplan {
namespace {

constexpr auto kPlanAgain = "make another plan: sparkplan plan -o PLAN";

const AppliedPlan* find_applied(const NodeRun& node, const std::string& plan) {
  if (!node.known.manifest) return nullptr;
  const auto& applied = node.known.manifest->applied_plans;
  const auto found = std::find_if(applied.begin(), applied.end(), [&](const auto& one) { return one.plan == plan; });
  return found == applied.end() ? nullptr : &*found;
}

Error applied_before(const AppliedPlan& applied, const std::string& node) {
  std::string message = "the plan was applied before, on " + node + " at " + applied.time + " by run " + applied.run;
  if (!applied.finished) message += ", which broke off: what it has done there stays";
  return Error{ErrorCode::kStalePlan, message, {}, std::nullopt, std::string("a plan is applied once; ") + kPlanAgain};
}

std::optional<Error> why_another_machine(const PlannedMachine& planned, const std::string& machine_id,
                                         const std::string& host_key) {
  const auto refused = [](const std::string& what, const std::string& then, const std::string& now) {
    return Error{ErrorCode::kStalePlan,
                 "it is not the machine that the plan was made for: its " + what + " was " + then + ", it is " + now,
                 {},
                 std::nullopt,
                 kPlanAgain};
  };
  if (planned.machine_id != machine_id) return refused("machine-id", planned.machine_id, machine_id);
  if (planned.host_key != host_key) return refused("host key", planned.host_key, host_key);
  return std::nullopt;
}

Error stale(std::string why) { return Error{ErrorCode::kStalePlan, std::move(why), {}, std::nullopt, kPlanAgain}; }

const NodeReport* find_node(const SavedPlan& saved, const std::string& name) {
  const auto& nodes = saved.report.nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NodeReport& one) { return one.name == name; });
  return found == nodes.end() ? nullptr : &*found;
}

bool contains(const std::vector<Diagnostic>& findings, const Diagnostic& wanted) {
  return std::find(findings.begin(), findings.end(), wanted) != findings.end();
}

Diagnostic remark(const std::string& node, std::string code, std::string message) {
  Diagnostic remark = finding(Severity::kWarning, std::move(code), node + ": " + std::move(message), kPlanAgain);
  remark.node = node;
  return remark;
}

}  // namespace

SavedPlan ClusterRun::save(Report report) const {
  SavedPlan saved;
  saved.id = new_uuid();
  saved.created = this_controller(options_.command).since;
  for (const auto& node : nodes_) {
    if (node.error || !node.client) continue;
    saved.machines[node.spec->name.str()] = {node.known.facts.machine_id, node.client->host_key()};
  }
  saved.report = std::move(report);
  return saved;
}

/// Nodes of which the plan holds nothing stay as they are, also their manifests.
void ClusterRun::leave_alone_what_is_not_held(const SavedPlan& saved) {
  for (auto& node : nodes_) {
    if (!active(node)) continue;
    const auto& name = node.spec->name.str();
    const auto* held = find_node(saved, name);
    const auto machine = saved.machines.find(name);
    const bool known = held != nullptr && !held->error && machine != saved.machines.end();
    if (!known || (held->membership == Membership::kLeaving) != node.leaving) {
      node.skipped = true;
      node.client.reset();
      remarks_.push_back(remark(name, "plan.node_not_held",
                                known ? "it has joined or left the cluster since the plan was made: left alone"
                                      : "it could not be planned when the plan was made: left alone"));
      continue;
    }
    const auto now = report_on(node);
    if (auto error = why_another_machine(machine->second, node.known.facts.machine_id, node.client->host_key())) {
      give_up(node, std::move(*error));
    } else if (held->address != now.address) {
      give_up(node, stale("the plan shows it at " + held->address + ", it is at " + now.address));
    } else if (held->membership == Membership::kMember && now.membership == Membership::kJoining) {
      give_up(node, stale("the plan shows it as a member of the cluster, and it is none"));
    } else if (held->membership != now.membership) {
      remarks_.push_back(remark(name, "plan.joined", "it has joined the cluster since the plan was made"));
    }
  }
}

/// What was found out about a node belongs to what was read: a warning that the plan does not show was agreed to by
/// no reader of it.
void ClusterRun::compare_findings(const SavedPlan& saved) {
  const auto now = report().diagnostics;
  for (auto& node : nodes_) {
    if (!active(node)) continue;
    const auto& name = node.spec->name.str();
    for (const Diagnostic& finding : saved.report.diagnostics) {
      if (finding.node == name && !contains(now, finding))
        remarks_.push_back(
            remark(name, "plan.finding_gone", "the plan shows what is no longer so: " + finding.message));
    }
    const auto unseen = std::find_if(diagnostics_.begin(), diagnostics_.end(), [&](const Diagnostic& finding) {
      return finding.node == name && !contains(saved.report.diagnostics, finding);
    });
    if (unseen != diagnostics_.end()) give_up(node, stale("the plan does not show this: " + unseen->message));
  }
}

/// True if there is something that was not known to be stale: it is blocked from now on, and so is what
/// needs it.
bool ClusterRun::find_stale(NodeRun& node, const NodePlan& saved) {
  auto held = hold_to(saved, node.plan);
  node.approved = std::move(held.approved);
  bool found = false;
  for (auto& [id, error] : held.stale) found = node.failures.emplace(id, std::move(error)).second || found;
  node.stale = node.stale || found;
  return found;
}

void ClusterRun::drop_what_is_not_held(NodeRun& node, const NodePlan& saved) {
  const auto& name = node.spec->name.str();
  const auto held = hold_to(saved, node.plan);
  for (const auto& id : held.not_held) {
    remarks_.push_back(remark(name, "plan.change_not_held",
                              id.str() + " differs as well, and the plan does not hold it: not carried out"));
  }
  for (const auto& id : held.not_so_now) {
    remarks_.push_back(remark(name, "plan.not_so_now", "what the plan shows of " + id.str() + " is no longer so"));
  }
  for (const auto& [id, error] : node.failures) {
    const bool told = std::any_of(node.plan.blocked.begin(), node.plan.blocked.end(),
                                  [&, wanted = id](const BlockedResource& blocked) { return blocked.id == wanted; });
    if (!told) remarks_.push_back(remark(name, "plan.stale", id.str() + ": " + error.describe()));
  }
  keep_to_approved(node);
  const auto not_approved = [&](const ResourceId& id) { return node.approved.count(id) == 0; };
  std::erase_if(node.plan.changes,
                [&](const Change& change) { return change.origin != Origin::kForeign && not_approved(change.id); });
  std::erase_if(node.plan.waiting, not_approved);
  // Without its whole plan a node that leaves would be released with something left on it.
  if (node.leaving && (node.stale || !held.not_held.empty()))
    give_up(node, stale("it is not as it was when the plan was made"));
}

void ClusterRun::keep_to_saved_plan(const SavedPlan& saved) {
  // A node speaks for itself. For the others it takes more than half: one claim is not to spoil the plan for all.
  std::map<std::string, Error> applied;
  std::size_t asked = 0;
  for (const auto& node : nodes_) {
    if (!active(node)) continue;
    ++asked;
    const auto& name = node.spec->name.str();
    if (const auto* before = find_applied(node, saved.id)) applied.emplace(name, applied_before(*before, name));
  }
  const bool by_most = applied.size() * 2 > asked;
  leave_alone_what_is_not_held(saved);
  compare_findings(saved);
  for (auto& node : nodes_) {
    if (applied.empty() || !active(node)) continue;
    const auto own = applied.find(node.spec->name.str());
    if (own == applied.end() && !by_most) continue;
    node.plan = {};
    give_up(node, own == applied.end() ? applied.begin()->second : own->second);
  }
  const auto plan_of = [&](const NodeRun& node) -> const NodePlan& {
    return find_node(saved, node.spec->name.str())->plan;  // All others are left alone by now.
  };
  bool found = true;
  while (found) {
    found = false;
    for (auto& node : nodes_) found = (active(node) && find_stale(node, plan_of(node))) || found;
    if (found) make_plans();
  }
  for (auto& node : nodes_) {
    if (active(node)) drop_what_is_not_held(node, plan_of(node));
  }
}

/// A later stage makes known what the plan shows as unknown, and changes nothing else that it shows: whatever a
/// node says by then.
void ClusterRun::refuse_what_was_not_shown() {
  if (held_plan_ == nullptr) return;
  for (auto& node : nodes_) {
    const auto* held = active(node) ? find_node(*held_plan_, node.spec->name.str()) : nullptr;
    if (held == nullptr) continue;
    for (auto& [id, error] : beyond_what_was_shown(held->plan, node.plan)) {
      if (node.approved.count(id) == 0) continue;
      node.failures.emplace(id, std::move(error));
      node.stale = true;
    }
  }
}

}  // namespace sparkplan
