#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/fleet/planning/change_outcomes.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/plan/fields_of_others.h"
#include "engine/plan/saved_plan.h"

namespace sparkplan {

/// One node in the planning phase.
struct PlannedNode {
  explicit PlannedNode(FleetNode& at) : node(at) {}
  /// The plan contains steps to carry out, or the node is to be released.
  bool has_work() const { return node.active() && (node.leaving || !plan.steps.empty()); }
  /// Removes the steps of changes that are not approved.
  void keep_to_approved();

  FleetNode& node;
  std::vector<Resource> desired;
  /// Only these resources are changed: what the release of another node implies. Without a value: all.
  std::optional<std::set<ResourceId>> implied;
  std::set<std::string> incomplete_types;
  std::set<ResourceId> unresolved;  ///< See NodePlanInput.
  ObservedState observed;
  NodePlan plan;
  ChangeOutcomes outcomes;
  /// The node's findings about these resources are over the limits, so that no finding names them.
  std::set<ResourceId> unnamed_findings = {};
  /// Fields for which another node's report differs from the saved plan. They stay as the node has them.
  KeptFields kept_fields = {};
};

/// Steps on trial, with the values that the manifest has after them.
struct TrialSteps {
  std::vector<Step> steps;
  std::map<ResourceId, Value> after_steps;
};

/// Plans for the nodes of a session. They come from the file (PlanRun) or from the nodes' journals (RollbackRun).
class Planning {
 public:
  explicit Planning(FleetSession& session) : session_(session) {}
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;
  virtual ~Planning() = default;

  /// Opens the session and makes the first plans.
  virtual void plan() = 0;
  /// Reads again what a stage may have changed. The session's facts are already new.
  virtual void observe_again() = 0;
  /// Plans from what was read, without the failed changes.
  virtual void make_plans() = 0;
  /// Under the locks: leaves out the changes that depend on data of other nodes that has changed since.
  virtual void check_others_unchanged() = 0;
  /// Why the node does not show the result of `trial` until `end`; empty if it does.
  virtual std::string why_not_shown(PlannedNode& node, const TrialSteps& trial,
                                    std::chrono::steady_clock::time_point end) = 0;
  /// The content of the node's manifest after the run.
  virtual std::map<ResourceId, ManagedResource> managed_after(const PlannedNode& node) const = 0;
  /// The run that is rolled back on this node; empty when the file is applied.
  virtual std::string undone_run(const PlannedNode& node) const = 0;
  virtual bool rolls_back() const = 0;
  /// The findings about this node that follow only from the reports of other nodes, or from a missing report.
  virtual std::vector<Diagnostic> due_to_others(const PlannedNode& /*node*/,
                                                const std::vector<Diagnostic>& /*findings*/) const {
    return {};
  }

  FleetSession& session() const { return session_; }
  /// In the order of FleetSession::nodes().
  std::deque<PlannedNode>& nodes() { return nodes_; }
  const std::deque<PlannedNode>& nodes() const { return nodes_; }
  /// Findings of the newest plan. Effects of an apply are added.
  const std::vector<Diagnostic>& findings() const { return findings_; }
  /// The findings() about one change that will fail or take no effect. They cause nothing elsewhere.
  const std::vector<Diagnostic>& about_one_change() const { return about_one_change_; }
  void add_finding(Diagnostic finding) { findings_.push_back(std::move(finding)); }
  NodeReport report_on(const PlannedNode& node) const;
  /// The result of planning.
  Report report() const;
  /// As report(), at the end of a run that carries nothing out. It moves the plans and frees what they were made of:
  /// one node can report the texts of many files, and each copy would take as much.
  Report take_report();
  /// The plan in the form of a file. The caller adds the text of the file, the selection and its own version.
  /// Errors: those of new_uuid().
  Result<SavedPlan> save(Report report) const;

 protected:
  /// After the session has found all nodes.
  void begin();

  FleetSession& session_;
  std::deque<PlannedNode> nodes_;
  std::vector<Diagnostic> findings_;
  std::vector<Diagnostic> about_one_change_;

 private:
  Report report(const std::function<NodeReport(const FleetNode&)>& describe) const;
};

}  // namespace sparkplan
