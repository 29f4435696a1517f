#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/fleet/apply/trial_run.h"
#include "engine/fleet/history/run_record.h"
#include "engine/fleet/planning/planning.h"
#include "engine/fleet/planning/saved_run.h"
#include "engine/fleet/session/run_identity.h"

namespace sparkplan {

struct ApplyOptions {
  bool allow_prune = false;  ///< --yes-prune
  /// `release NODE`: only this member leaves. Nothing is written if no node has that name. Empty: no such restriction.
  std::string release;
  bool forget = false;  ///< `release NODE --forget`: it leaves the roster without contact. The file has no entry.
  /// The released member's entry in the file, if it has one. The cluster of the run is the file without it.
  std::optional<NodeSpec> released_entry;
  /// With `released_entry`: the file with it. The other nodes are changed only where that makes a difference.
  const Cluster* with_released = nullptr;
  bool all_or_nothing = false;  ///< One node that cannot be reached or planned stops the run before the first write.
  std::chrono::milliseconds lock_timeout{0};
  /// A disruptive change is undone after that long unless sparkplan reconnects to the node; 0: no safety net.
  std::chrono::seconds window{90};
  std::size_t max_parallel = 0;           ///< The most nodes at the same time after the canary; 0: all.
  bool ignore_jobs = false;               ///< Disruptive changes are also made on nodes with a running job.
  bool allow_management_change = false;   ///< The interface of our connection may change, too.
  const SavedPlan* saved_plan = nullptr;  ///< Only its changes are carried out, exactly as it shows them.
  /// Instead of applying the file: undoes the last run of these nodes; of the cluster if empty.
  std::optional<std::vector<std::string>> rollback;
  /// With `rollback`: the controller's log, oldest first.
  std::vector<RecordedRun> log = {};
  /// Shows the plan and asks. Called at most once, and not for a plan without changes.
  std::function<bool(const Report& plan)> approve;
};

/// Plans, then approval, locks, stages until nothing is left to do, and the manifests. The report lists all changes,
/// done or not.
class ApplyRun {
 public:
  /// `options` must outlive the run.
  ApplyRun(const Cluster& cluster, const Registry& registry, RunOptions run, const ApplyOptions& options);
  Report run();

 private:
  void begin();
  bool releases_nobody() const;
  bool guards_refuse();
  /// A job on the node forbids its disruptive changes.
  bool is_held_by_job(const FleetNode& node) const { return !options_.ignore_jobs && !node.known.jobs.empty(); }
  void refuse_nodes_with_jobs();
  bool refuse_unasked_releases();
  void refuse_unasked_prunes();
  void check_unchanged();

  ShownPlans shown_plans() const;
  void carry_out_stages();
  bool carry_out_stage();
  void carry_out(ApplyNode& node);
  void send_steps(ApplyNode& node, std::vector<Step> steps, std::map<ResourceId, Value> after_steps);
  std::vector<SecretValue> secrets_of(const FleetNode& node, const std::vector<Step>& steps) const;
  /// Fails changes that were carried out, are still desired as `before`, and are not visible on the node.
  static void fail_invisible_changes(PlannedNode& node, const std::vector<Resource>& before);

  void release_departing();
  /// After a stage: finds what the plan has shown as unknown until another node has it, and what it will not have.
  void find_values_not_learned();
  void warn_of_values_not_learned();
  void commit_all();
  void commit(ApplyNode& node);
  void find_ineffective();
  std::string audit_line(const ApplyNode& node, const std::string& operation) const;
  Roster next_roster() const;
  Roster roster_for(const FleetNode& node) const;
  Report report_not_begun() const;
  NodeReport report_on(const ApplyNode& node) const;
  std::vector<std::string> failed_trials() const;
  void judge(NodeReport& report, const ApplyNode& node, bool all_done) const;
  Report report() const;

  const ApplyOptions& options_;
  FleetSession session_;
  std::unique_ptr<Planning> planning_;
  std::deque<ApplyNode> nodes_;
  std::optional<TrialRun> trial_;
  bool not_begun_ = false;                           ///< --all-or-nothing has stopped the run before its first change.
  Result<std::string> new_cluster_id_ = new_uuid();  ///< For a cluster without a roster.
  Roster next_roster_;                               ///< As of the beginning of the stage.
  std::map<std::string, std::set<std::string>> not_learned_;  ///< Value and reason -> the nodes that lack it.
};

}  // namespace sparkplan
