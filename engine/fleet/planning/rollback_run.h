#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/fleet/history/run_record.h"
#include "engine/fleet/planning/planning.h"

namespace sparkplan {

/// Plans that undo an earlier run, from the nodes' journals.
class RollbackRun : public Planning {
 public:
  /// Undoes the last run of the named nodes; of the cluster if `names` is empty. Without names, all nodes are
  /// refused in two cases: a node names a newer run than most nodes, and `log`, the controller's, has this run on the
  /// node; or newest_kept_run() finds a newer run. `log` must outlive this object.
  RollbackRun(FleetSession& session, std::vector<std::string> names, const std::vector<RecordedRun>& log)
      : Planning(session), names_(std::move(names)), log_(log) {}

  void plan() override;
  void observe_again() override { read_journals(); }
  void make_plans() override;
  void check_others_unchanged() override {}  // A rollback restores nothing that other nodes could have by now.
  std::string why_not_shown(PlannedNode& node, const TrialSteps& trial,
                            std::chrono::steady_clock::time_point end) override;
  std::map<ResourceId, ManagedResource> managed_after(const PlannedNode& node) const override;
  std::string undone_run(const PlannedNode& node) const override;
  bool rolls_back() const override { return true; }

 private:
  /// Run -> the names of the nodes that name it as their last. Oldest first.
  using NodesOfRun = std::map<std::string, std::vector<std::string>>;
  void read_journals();
  static std::string last_run_of_most(const NodesOfRun& nodes_of_run);
  void skip_other_runs();
  std::optional<RecordedOn> newer_run_in_log(const NodesOfRun& nodes_of_run, const std::string& last) const;
  std::string claim_of(const std::string& name) const;
  void remark_on_skipped(const std::vector<std::string>& names, const std::string& last);
  void refuse_unclear_rollback(const NodesOfRun& nodes_of_run, const std::string& addition);
  void put_failed_aside(PlannedNode& planned);
  void remark_on_kept(const FleetNode& node, const std::vector<KeptArtifact>& kept);
  void remark_on_rollback();

  std::vector<std::string> names_;
  const std::vector<RecordedRun>& log_;
  /// The answers to the first question, in the order of nodes(). Without the steps, which are in the plans, and without
  /// the kept artifacts, which are in the remarks.
  std::vector<std::optional<UndoReply>> undo_;
  std::vector<std::vector<Step>> failed_;  ///< In the order of nodes(): of the newest answers, what is not tried again.
};

}  // namespace sparkplan
