#include "engine/fleet/planning/saved_run.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/foresight.h"
#include "engine/plan/fields_of_others.h"
#include "engine/plan/held_plan.h"

namespace sparkplan {
namespace {

constexpr auto kPlanAgain = "make a new plan: sparkplan plan -o PLAN";

const AppliedPlan* find_applied(const FleetNode& node, const std::string& plan) {
  if (!node.known.manifest) return nullptr;
  const auto& applied = node.known.manifest->applied_plans;
  const auto found = std::find_if(applied.begin(), applied.end(), [&](const auto& one) { return one.plan == plan; });
  return found == applied.end() ? nullptr : &*found;
}

Error applied_before(const AppliedPlan& applied, const std::string& node) {
  std::string message = "the plan was applied before, on " + node + " at " + applied.time + " by run " + applied.run;
  if (!applied.finished) message += ", which was interrupted: its completed changes stay";
  return Error{ErrorCode::kStalePlan, message, {}, std::nullopt, std::string("a plan is applied once; ") + kPlanAgain};
}

std::optional<Error> why_another_machine(const PlannedMachine& planned, const std::string& machine_id,
                                         const std::string& host_key) {
  const auto refused = [](const std::string& what, const std::string& then, const std::string& now) {
    return Error{ErrorCode::kStalePlan,
                 "it is not the machine that the plan was made for: its " + what + " was " + then + ", now " + now,
                 {},
                 std::nullopt,
                 kPlanAgain};
  };
  if (planned.machine_id != machine_id) return refused("machine-id", planned.machine_id, machine_id);
  if (planned.host_key != host_key) return refused("host key", planned.host_key, host_key);
  return std::nullopt;
}

Error stale_plan(std::string why) { return Error{ErrorCode::kStalePlan, std::move(why), {}, std::nullopt, kPlanAgain}; }

const NodeReport* find_node(const SavedPlan& saved, const std::string& name) {
  const auto& nodes = saved.report.nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NodeReport& one) { return one.name == name; });
  return found == nodes.end() ? nullptr : &*found;
}

bool contains(const std::vector<Diagnostic>& findings, const Diagnostic& wanted) {
  return std::find(findings.begin(), findings.end(), wanted) != findings.end();
}

void warn(FleetSession& session, const FleetNode& node, std::string code, const std::string& message) {
  session.remark(node, Severity::kWarning, std::move(code), node.name() + ": " + message, kPlanAgain);
}

/// Nodes without an entry in the plan keep their state, including their manifests.
void skip_nodes_not_held(Planning& planning, const SavedPlan& saved) {
  FleetSession& session = planning.session();
  for (auto& planned : planning.nodes()) {
    FleetNode& node = planned.node;
    if (!node.active()) continue;
    const auto& name = node.name();
    const auto* held = find_node(saved, name);
    const auto machine = saved.machines.find(name);
    const bool known = held != nullptr && !held->error && machine != saved.machines.end();
    if (!known || (held->membership == Membership::kLeaving) != node.leaving) {
      node.skipped = true;
      node.client.reset();
      warn(session, node, "plan.node_not_held",
           known ? "it has joined or left the cluster since the plan was made: skipped"
                 : "it could not be planned when the plan was made: skipped");
      continue;
    }
    const auto now = planning.report_on(planned);
    if (auto error = why_another_machine(machine->second, node.known.facts.machine_id, node.client->host_key())) {
      session.give_up(node, std::move(*error));
    } else if (held->address != now.address) {
      session.give_up(node, stale_plan("its address was " + held->address + " in the plan and is now " + now.address));
    } else if (held->membership == Membership::kMember && now.membership == Membership::kJoining) {
      session.give_up(node, stale_plan("the plan shows it as a member of the cluster, but it is not a member"));
    } else if (held->membership != now.membership) {
      warn(session, node, "plan.joined", "it has joined the cluster since the plan was made");
    }
  }
}

/// Leaves out what the finding concerns: the displayed changes of its type at its place in the file, or all of its type
/// if it has another place.
void leave_out_concerned(PlannedNode& planned, const NodePlan& saved, const Diagnostic& finding) {
  const std::string type = finding.code.substr(0, finding.code.find('.'));
  std::set<ResourceId> of_type;
  std::set<ResourceId> there;
  for (const Change& change : saved.changes) {
    if (change.id.type != type || change.origin == Origin::kForeign) continue;
    of_type.insert(change.id);
    if (change.where == finding.where) there.insert(change.id);
  }
  // A resource without a change is declared there. If it has no desired state because of the finding,
  // leave_out_unresolved() leaves it out.
  const bool is_of_another =
      std::ranges::any_of(planned.unresolved, [&](const ResourceId& id) { return id.type == type; }) ||
      std::ranges::any_of(planned.desired,
                          [&](const Resource& one) { return one.id.type == type && one.where == finding.where; });
  if (there.empty() && finding.where.known() && is_of_another) return;
  for (const ResourceId& id : there.empty() ? of_type : there)
    planned.outcomes.go_stale(id, stale_plan("a finding is not in the plan: " + finding.message));
}

/// Leaves out the displayed changes of these resources because of the finding. A change that has a reason keeps it.
void leave_out(PlannedNode& planned, const NodePlan& saved, const std::set<ResourceId>& ids,
               const Diagnostic& finding) {
  for (const Change& change : saved.changes) {
    if (change.origin != Origin::kForeign && ids.contains(change.id))
      planned.outcomes.go_stale(change.id, stale_plan("a finding is not in the plan: " + finding.message));
  }
}

/// One finding may be about several resources of its type in the file, which then have no desired state.
void leave_out_unresolved(PlannedNode& planned, const NodePlan& saved, const Diagnostic& finding) {
  std::set<ResourceId> ids = planned.unresolved;
  const std::string type = finding.code.substr(0, finding.code.find('.'));
  std::erase_if(ids, [&](const ResourceId& id) { return id.type != type; });
  leave_out(planned, saved, ids, finding);
}

/// Findings are part of the plan that was read: its reader has not consented to a warning that it does not show.
/// Another node's claim must not stop the whole node. A file server can word what its clients foresee of one change.
void compare_findings(Planning& planning, const SavedPlan& saved) {
  FleetSession& session = planning.session();
  const auto now = planning.report().diagnostics;
  for (PlannedNode& planned : planning.nodes()) {
    const FleetNode& node = planned.node;
    if (!node.active()) continue;
    for (const Diagnostic& finding : saved.report.diagnostics) {
      if (finding.node == node.name() && !contains(now, finding))
        warn(session, node, "plan.finding_gone", "a finding in the plan no longer applies: " + finding.message);
    }
    std::vector<Diagnostic> added;
    std::ranges::copy_if(planning.findings(), std::back_inserter(added), [&](const Diagnostic& finding) {
      return finding.node == node.name() && !contains(saved.report.diagnostics, finding);
    });
    const auto due_to_others = planning.due_to_others(planned, added);
    for (const Diagnostic& finding : added) {
      const NodePlan& held = find_node(saved, node.name())->plan;  // Other nodes are skipped by now.
      if (finding.code == kMoreFindings) {
        leave_out(planned, held, planned.unnamed_findings, finding);
      } else if (contains(due_to_others, finding) || contains(planning.about_one_change(), finding)) {
        leave_out_concerned(planned, held, finding);
      } else {
        session.give_up(planned.node, stale_plan("a finding is not in the plan: " + finding.message));
        break;
      }
    }
    if (!node.active()) continue;
    for (const Diagnostic& finding : due_to_others)
      leave_out_unresolved(planned, find_node(saved, node.name())->plan, finding);
  }
  planning.make_plans();
}

using CompareFields = FieldsOfOthers (*)(const NodePlan& saved, const NodePlan& now,
                                         const std::vector<Resource>& desired, const OtherNodes& others);

OtherNodes nodes_of(const FleetSession& session) {
  OtherNodes nodes;
  for (const FleetNode& node : session.nodes()) {
    if (!node.leaving) (node.active() ? nodes.taking_part : nodes.excluded).insert(node.name());
  }
  return nodes;
}

/// The nodes on which fields stay, by the node that these fields follow from.
using KeptOn = std::map<std::string, std::vector<std::string>>;

void warn_of_kept(FleetSession& session, const KeptOn& kept_on, bool clear) {
  for (const FleetNode& node : session.nodes()) {
    const auto kept = kept_on.find(node.name());
    if (kept == kept_on.end()) continue;
    std::string why = "it or another node reports other data than when the plan was made, or its lines were edited";
    if (clear)
      why = node.active() ? "it reports other data than when the plan was made" : "it takes no part in this apply";
    warn(session, node, "plan.other_data",
         why + (clear ? ": what follows from it stays as it is on " : ": what differs stays as it is on ") +
             fold_names(kept->second));
  }
}

/// Another node's report must not keep the rest of a change from being carried out.
void leave_fields_of_others(Planning& planning, const ShownPlans& shown, CompareFields compare) {
  FleetSession& session = planning.session();
  const OtherNodes all = nodes_of(session);
  KeptOn kept_on;
  KeptOn unclear_on;
  for (PlannedNode& planned : planning.nodes()) {
    const NodePlan* held = planned.node.active() ? shown(planned.node) : nullptr;
    if (held == nullptr) continue;
    OtherNodes others = all;
    others.taking_part.erase(planned.node.name());
    auto found = compare(*held, planned.plan, planned.desired, others);
    for (const std::string& name : found.nodes) kept_on[name].push_back(planned.node.name());
    for (const std::string& name : found.unclear) unclear_on[name].push_back(planned.node.name());
    for (auto& [id, paths] : found.fields) planned.kept_fields[id].merge(paths);
    keep_fields(planned.desired, planned.kept_fields);
  }
  warn_of_kept(session, kept_on, true);
  warn_of_kept(session, unclear_on, false);
  if (!kept_on.empty() || !unclear_on.empty()) planning.make_plans();
}

/// True if a change is newly found to be stale. It is blocked from now on, and with it all changes that need it.
bool find_stale(PlannedNode& node, const NodePlan& saved) {
  const auto held = hold_to(saved, node.plan, node.kept_fields);
  node.outcomes.approve(held.approved);
  bool found = false;
  for (const auto& [id, error] : held.stale) {
    if (!node.outcomes.of(id).failure) found = node.outcomes.go_stale(id, error);
  }
  return found;
}

void drop_changes_not_held(FleetSession& session, PlannedNode& planned, const NodePlan& saved) {
  NodePlan& plan = planned.plan;
  const auto held = hold_to(saved, plan, planned.kept_fields);
  for (const auto& id : held.not_held) {
    warn(session, planned.node, "plan.change_not_held",
         id.words() + " also differs, but is not in the plan: not changed");
  }
  for (const auto& id : held.not_so_now) {
    warn(session, planned.node, "plan.not_so_now", "the planned change of " + id.words() + " is no longer needed");
  }
  std::set<ResourceId> reported;
  for (const BlockedResource& one : plan.blocked) reported.insert(one.id);
  for (const auto& [id, error] : planned.outcomes.failures()) {
    if (!reported.contains(id)) warn(session, planned.node, "plan.stale", id.words() + ": " + error.describe());
  }
  planned.keep_to_approved();
  const auto not_approved = [&](const ResourceId& id) { return !planned.outcomes.of(id).approved; };
  std::erase_if(plan.changes,
                [&](const Change& change) { return change.origin != Origin::kForeign && not_approved(change.id); });
  std::erase_if(plan.waiting, not_approved);
  // Without its whole plan, a departing node would be released with changes left on it.
  if (planned.node.leaving && (planned.outcomes.any_stale() || !held.not_held.empty()))
    session.give_up(planned.node, stale_plan("it changed since the plan was made"));
}

}  // namespace

ShownPlans plans_in(const SavedPlan& saved) {
  return [&saved](const FleetNode& node) -> const NodePlan* {
    const NodeReport* report = find_node(saved, node.name());
    return report == nullptr ? nullptr : &report->plan;
  };
}

void keep_to_saved_plan(Planning& planning, const SavedPlan& saved, FieldsOfOtherNodes fields) {
  FleetSession& session = planning.session();
  // Each node decides for itself. For the others it takes more than half, so that no single node can spoil the plan.
  std::map<std::string, Error> applied;
  std::size_t asked = 0;
  for (const auto& node : session.nodes()) {
    if (!node.active()) continue;
    ++asked;
    if (const auto* before = find_applied(node, saved.id)) {
      applied.emplace(node.name(), applied_before(*before, node.name()));
    }
  }
  const bool by_most = applied.size() * 2 > asked;
  skip_nodes_not_held(planning, saved);
  compare_findings(planning, saved);
  for (auto& planned : planning.nodes()) {
    if (applied.empty() || !planned.node.active()) continue;
    const auto own = applied.find(planned.node.name());
    if (own == applied.end() && !by_most) continue;
    planned.plan = {};
    session.give_up(planned.node, own == applied.end() ? applied.begin()->second : own->second);
  }
  if (fields == FieldsOfOtherNodes::kStay) leave_fields_of_others(planning, plans_in(saved), fields_reported_otherwise);
  const auto held_plan = [&](const PlannedNode& planned) -> const NodePlan& {
    return find_node(saved, planned.node.name())->plan;  // Nodes without one are skipped by now.
  };
  bool found = true;
  while (found) {
    found = false;
    for (auto& planned : planning.nodes()) {
      found = (planned.node.active() && find_stale(planned, held_plan(planned))) || found;
    }
    if (found) planning.make_plans();
  }
  for (auto& planned : planning.nodes()) {
    if (planned.node.active()) drop_changes_not_held(session, planned, held_plan(planned));
  }
}

void keep_fields_not_shown(Planning& planning, const ShownPlans& shown) {
  leave_fields_of_others(planning, shown, fields_beyond);
}

void refuse_changes_not_shown(Planning& planning, const ShownPlans& shown, const std::string& hint) {
  for (auto& planned : planning.nodes()) {
    const NodePlan* held = planned.node.active() ? shown(planned.node) : nullptr;
    if (held == nullptr) continue;
    for (auto& [id, error] : beyond_what_was_shown(*held, planned.plan)) {
      const ChangeOutcome& outcome = planned.outcomes.of(id);
      if (!outcome.approved || outcome.failure) continue;
      error.hint = hint;
      planned.outcomes.go_stale(id, error);
    }
  }
}

}  // namespace sparkplan
