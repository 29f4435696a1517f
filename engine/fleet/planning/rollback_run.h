#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/fleet/planning/planning.h"

namespace sparkplan {

/// Plans that undo an earlier run, from the nodes' journals.
class RollbackRun : public Planning {
 public:
  /// True if the controller's log has the run on that node.
  using IsRecorded = std::function<bool(const std::string& run, const std::string& node)>;

  /// Undoes the last run of the named nodes; of the cluster if `names` is empty. Without names, a run that
  /// `is_recorded` and is newer than that of most nodes has all nodes refused. Empty: there is no log.
  RollbackRun(FleetSession& session, std::vector<std::string> names, IsRecorded is_recorded)
      : Planning(session), names_(std::move(names)), is_recorded_(std::move(is_recorded)) {}

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
  std::string node_in_newer_run(const NodesOfRun& nodes_of_run, const std::string& last) const;
  void refuse_unclear_rollback(const NodesOfRun& nodes_of_run, const std::string& addition);
  void put_failed_aside(PlannedNode& planned);
  void remark_on_kept(const FleetNode& node, const std::vector<KeptArtifact>& kept);
  void remark_on_rollback();

  std::vector<std::string> names_;
  IsRecorded is_recorded_;
  /// The answers to the first question, in the order of nodes(). Without the steps, which are in the plans, and without
  /// the kept artifacts, which are in the remarks.
  std::vector<std::optional<UndoReply>> undo_;
  std::vector<std::vector<Step>> failed_;  ///< In the order of nodes(): of the newest answers, what is not tried again.
};

}  // namespace sparkplan
