#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/fleet/planning/planning.h"

namespace sparkplan {

/// Whether the nodes are asked which of the planned changes will fail.
enum class Foresight : std::uint8_t { kNone, kAsked };

/// Plans from the file: desired x observed x last applied.
class PlanRun : public Planning {
 public:
  /// With `allow_management_change`, the interface of our connection may change, too.
  explicit PlanRun(FleetSession& session, bool allow_management_change = false, Foresight foresight = Foresight::kNone)
      : Planning(session), allow_management_change_(allow_management_change), foresight_(foresight) {}

  /// `release NODE`: other nodes are changed only where the file with that node wants something else than the cluster
  /// of the session, which is without it. `with_released` must outlive the run.
  void keep_to_release(const Cluster& with_released) { with_released_ = &with_released; }

  void plan() override;
  void observe_again() override;
  void make_plans() override;
  void check_others_unchanged() override;
  std::string why_not_shown(PlannedNode& node, const TrialSteps& trial,
                            std::chrono::steady_clock::time_point end) override;
  std::map<ResourceId, ManagedResource> managed_after(const PlannedNode& node) const override;
  std::string undone_run(const PlannedNode&) const override { return ""; }
  bool rolls_back() const override { return false; }
  std::vector<Diagnostic> due_to_others(const PlannedNode& planned,
                                        const std::vector<Diagnostic>& findings) const override;

 private:
  void compile();
  void observe();
  void observe_node(PlannedNode& node) const;
  void observe_added();
  void make_plan(PlannedNode& node) const { node.plan = plan_of(node, node.implied); }
  /// With `only`, the plan has no changes of other resources.
  NodePlan plan_of(const PlannedNode& node, const std::optional<std::set<ResourceId>>& only) const;
  /// Sets `implied` of a node that stays. `without`: what it should have when the released node is gone.
  void find_implied(PlannedNode& node, const Desired& without) const;
  /// Warns if the released node could not be read, or not as a whole.
  void remark_unread_release();
  /// Counts the changes that only `implied` keeps out of the plans.
  void remark_left_out();
  std::set<std::string> producers_at_work() const;
  bool end_waits();
  /// make_plans(), and gives up the nodes whose plans are refused.
  void make_acceptable_plans();
  void refuse_unsafe_plans();
  void refuse_unreadable_plans();
  void foresee();
  Desired desired_in_view(const PlannedNode& node, const ResourceType& type,
                          const std::map<std::string, NodeExports>& exports) const;
  bool go_stale(PlannedNode& node, const ResourceType& type, const std::map<std::string, NodeExports>& now,
                const std::vector<std::string>& changed) const;

  bool allow_management_change_;
  Foresight foresight_;
  const Cluster* with_released_ = nullptr;
  std::map<std::string, NodeExports> exports_;  ///< The input of the nodes' desired values.
  std::set<std::string> ended_waits_;           ///< Producers that are not waited for again in this run.
};

/// Pure report of the file's plan; writes nothing except agents, as the install policy says.
Report plan_cluster(const Cluster& cluster, const Registry& registry, RunOptions options);

}  // namespace sparkplan
