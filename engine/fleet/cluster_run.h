#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/selection.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"
#include "engine/plan/report.h"
#include "engine/plan/roster.h"
#include "engine/plan/saved_plan.h"
#include "engine/remote/agent_client.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// What kind of thing a node is at.
enum class Activity : std::uint8_t {
  kWorking,
  kWaiting,  ///< For the other nodes, or because it is done.
  kFailed,   ///< It takes no further part in the run.
};

struct RunOptions {
  std::string command = "plan";  ///< For the lock, the audit line and the report.
  std::size_t workers = 16;
  AgentOptions agent;
  Selection selection;
  std::stop_token stop;
  /// Called from several threads: what a node is at. Never empty text.
  std::function<void(const std::string& node, std::string_view doing, Activity activity)> progress;
  bool extended = false;  ///< Facts::extended is wanted as well.
  /// --yes-prune: members that the file no longer names are contacted, and given back by an apply.
  bool contact_departing = false;
};

struct ApplyOptions {
  bool allow_prune = false;  ///< --yes-prune
  std::string release;       ///< `release NODE`: this member leaves, and nobody else does. Empty: not so.
  /// Its entry in the file, where it has one; the cluster of the run is the file without it.
  std::optional<NodeSpec> released_entry;
  bool all_or_nothing = false;  ///< One node that cannot be reached or planned stops all before the first write.
  std::chrono::milliseconds lock_timeout{0};
  /// A change that may cut a node off is undone after that long unless the node was reached anew; 0: no
  /// safety net.
  std::chrono::seconds window{90};
  std::size_t max_parallel = 0;           ///< So many nodes at once after the canary; 0: all.
  bool allow_management_change = false;   ///< The interface that carries our connection may change, too.
  const SavedPlan* saved_plan = nullptr;  ///< Only what it holds is carried out, and only as it holds it.
  /// Instead of applying the file: the last run of these nodes is undone; of the cluster when empty.
  std::optional<std::vector<std::string>> rollback;
  /// Shows the plan and asks; called at most once, and not when there is nothing to do.
  std::function<bool(const Report& plan)> approve;
};

/// Steps of one node that are on trial, and how that goes.
struct TrialRun {
  enum class State : std::uint8_t {
    kWaiting,     ///< Not begun.
    kCarriedOut,  ///< Done on the node, and not confirmed yet.
    kShown,       ///< Seen over a fresh connection.
    kConfirmed,
    kEnded,  ///< The node undid it at once, because a step failed: told in the steps' results.
    kUndone,
    kLost,  ///< Nobody knows: the node does not answer.
  };
  State state = State::kWaiting;
  std::vector<Step> steps;
  std::map<ResourceId, Value> after_steps;  ///< NodePlan::after_steps of the plan that they are from.
  std::chrono::steady_clock::time_point begun;
  ApplyReply reply;
  std::vector<ProbeTarget> worked_before;  ///< Probes of the fabric that are still expected to work.
  std::string why_not;                     ///< Why it is not to be kept.
};

/// What a run knows of one node.
struct NodeRun {
  const NodeSpec* spec = nullptr;
  std::optional<AgentClient> client;
  std::optional<Error> error;  ///< The node takes no further part in the run.
  bool skipped = false;        ///< maintenance, or not selected.
  bool leaving = false;        ///< No longer in the file: given back as it was before.
  bool not_contacted = false;  ///< Leaving, and without consent to contact it in this run.
  /// Of a leaving node that only the roster names: what its machine has to prove.
  std::optional<RosterEntry> departed;
  bool released = false;  ///< Nothing of sparkplan's is left there.
  FactsReply known;
  std::vector<Resource> desired;
  std::set<std::string> incomplete_types;
  ObservedState observed;
  NodePlan plan;
  // From here on only used by apply.
  NodePlan shown;  ///< The plan that was approved, with what later stages learned of it.
  std::set<ResourceId> approved;
  std::map<ResourceId, Error> failures;
  std::set<ResourceId> done;
  std::set<ResourceId> in_flight;                        ///< Sent to the agent, whose answer never came.
  std::map<ResourceId, std::set<ArtifactId>> artifacts;  ///< What the steps carried out so far lived in.
  std::optional<UndoReply> undo;                         ///< Of a rollback: what it undoes.
  UndoReply undo_left;                                   ///< What of that is still to be done.
  bool stale = false;
  bool wrote = false;
  bool stopped = false;
  TrialRun trial;
  bool rolled_back = false;
  std::optional<Error> held_back;  ///< Why its disruptive steps were not begun.
};

/// One command on the nodes of a cluster: connections, facts, observations and plans, node by node
/// and all at once. Failures of one node stay with that node.
class ClusterRun {
 public:
  ClusterRun(const Cluster& cluster, const Registry& registry, RunOptions options);

  /// Reads every node and plans. Writes nothing (but the agent, where the install policy says so).
  Report plan();

  /// plan(), then approval, locks, stages of steps and re-observation until nothing is left to do,
  /// and the manifests. Always says what was done and what was not.
  Report apply(const ApplyOptions& options);

  /// The plan just made as a file holds it; the caller adds what only it knows: the text of the file, the
  /// selection, its own version.
  SavedPlan save(Report report) const;

  /// Connects and reads the facts only; for `status`, `facts` and `verify`.
  void open();
  const std::vector<NodeRun>& nodes() const { return nodes_; }
  /// For those who ask the nodes more than a run does. An error that they set takes its node out.
  std::vector<NodeRun>& nodes() { return nodes_; }
  /// What is known so far.
  Report report() const;

 private:
  /// Every node that still takes part, many at a time.
  void on_each(const std::function<void(NodeRun&)>& work);
  /// What escapes from `work` takes this node out, and no other.
  void work_on(NodeRun& node, const std::function<void(NodeRun&)>& work) const;
  bool active(const NodeRun& node) const {
    return !node.skipped && !node.not_contacted && !node.error && !node.released;
  }
  void tell(const NodeRun& node, std::string_view doing, Activity activity = Activity::kWorking) const;
  void give_up(NodeRun& node, Error error) const;

  FactsRequest facts_request(const NodeRun& node) const;
  /// What a run asks again of a node that it knows, until it plans anew: of exports only those of which only one node
  /// may have a thing. The answer is for learn_again(), which keeps the others.
  FactsRequest second_request(const NodeRun& node) const;
  Result<void> learn_again(NodeRun& node, FactsReply reply) const;
  void find_roster();
  void warn_of(std::vector<UnsupportedMember> unsupported);
  /// Members that the roster names and the file does not. With consent they are contacted from here on, to be given
  /// back.
  void admit_departed_members();
  bool is_ours(const Manifest& manifest) const;
  bool consents_to_release(const std::string& name) const;
  void open_departing(NodeRun& node);
  Result<void> prove_identity(NodeRun& node);
  bool is_member(const NodeRun& node) const;
  NodeRun& add_leaving(NodeSpec spec);
  void open_node(NodeRun& node);
  Machines machines() const;
  void take_out_same_machines();
  void work_out_each(const std::function<void(NodeRun&)>& work);
  void compile();
  void observe();
  void make_plan(NodeRun& node) const;
  void make_plans();
  void refuse_what_is_unsafe();
  NodeReport report_on(const NodeRun& node) const;
  /// Of a node of which nothing else can be reported.
  static NodeReport report_on_error(const NodeRun& node, Error error);
  std::optional<Diagnostic> told_by(const NodeRun& node) const;

  void keep_to_saved_plan(const SavedPlan& saved);
  bool find_stale(NodeRun& node, const NodePlan& saved);
  void drop_what_is_not_held(NodeRun& node, const NodePlan& saved);
  void leave_alone_what_is_not_held(const SavedPlan& saved);
  void compare_findings(const SavedPlan& saved);
  void refuse_what_was_not_shown();
  Report plan_rollback(const std::vector<std::string>& names);
  void ask_what_undoes();
  void make_plans_of_undoing();
  void remark_on_rollback();
  void leave_out_other_runs(const std::vector<std::string>& names);
  void refuse_unclear_rollback(const std::map<std::string, std::vector<std::string>>& nodes_of_run);
  static std::map<ResourceId, ManagedResource> managed_after_undoing(const NodeRun& node);

  bool guards_refuse(const ApplyOptions& options);
  bool refuse_unasked_releases();
  void refuse_unasked_prunes(const ApplyOptions& options);
  bool lock_all(std::chrono::milliseconds timeout);
  void unlock_all();
  std::map<std::string, NodeExports> told() const;
  std::optional<Error> why_stale(const NodeRun& node, const ResourceType& type,
                                 const std::map<std::string, NodeExports>& now,
                                 const std::vector<std::string>& who) const;
  void check_others_unchanged();
  void check_unchanged_since_planning();
  void carry_out_stages();
  bool carry_out_stage();
  void carry_out(NodeRun& node);
  void carry_out_trials();
  void carry_out_wave(const std::set<std::string>& names);
  void on_wave(const std::set<std::string>& names, TrialRun::State state, const std::function<void(NodeRun&)>& work);
  void hold_back(const std::set<std::string>& names, const std::string& why);
  void choose_probes(NodeRun& node);
  void begin_trial(NodeRun& node);
  void reach_anew(NodeRun& node);
  static void foresee_confirmation(NodeRun& node);
  void see_what_was_applied(NodeRun& node);
  void see_what_was_undone(NodeRun& node);
  RunPurpose purpose_of(const NodeRun& node) const { return {saved_plan_, node.undo ? node.undo->run : ""}; }
  void probe_again(NodeRun& node);
  void ask_a_neighbour(NodeRun& node);
  bool neighbour_reaches(const NodeRun& node);
  void decide(const std::set<std::string>& names);
  void extend(NodeRun& node);
  void confirm(NodeRun& node);
  void roll_back(NodeRun& node);
  void await_old_state(NodeRun& node);
  void note_rollback_failed(NodeRun& node, const TransactionReport& transaction);
  void note_rolled_back(NodeRun& node, const std::string& told);
  Result<AgentClient> open_again(const NodeRun& node, std::chrono::steady_clock::time_point deadline) const;
  Result<void> lock_again(NodeRun& node, std::chrono::steady_clock::time_point deadline) const;
  std::chrono::steady_clock::time_point deadline_to_connect(const NodeRun& node) const;
  void note_results(NodeRun& node, const ApplyReply& reply, const std::vector<Step>& steps);
  void keep_to_approved(NodeRun& node) const;
  void observe_again();
  void check_effects();
  void commit_all();
  void commit(NodeRun& node, const Roster& roster);
  void release_departing();
  std::string audit_line(const NodeRun& node, const std::string& what) const;
  Report apply_report() const;
  Report report_not_begun() const;
  NodeReport apply_report_on(const NodeRun& node) const;
  Roster new_roster() const;
  Roster new_roster_of(const NodeRun& node, const Roster& next) const;

  const Cluster& cluster_;
  const Registry& registry_;
  RunOptions options_;
  std::string run_;
  std::string uuid_;
  std::chrono::steady_clock::time_point started_;
  std::set<std::string> exported_everywhere_;  ///< Types of which every node is asked, whatever its own sections are.
  std::deque<NodeSpec> leaving_;               ///< Specs of nodes that the file does not name any more.
  std::vector<NodeRun> nodes_;
  std::map<std::string, NodeExports> told_;  ///< What the nodes' desired values were made from.
  Roster roster_;                            ///< As most of the manifests have it.
  /// Departed members that one manifest alone lists: that manifest keeps them, and nothing else follows.
  std::vector<RosterEntry> single_witness_;
  std::string saved_plan_;                ///< The id of ApplyOptions::saved_plan.
  const SavedPlan* held_plan_ = nullptr;  ///< ApplyOptions::saved_plan
  std::string only_release_;              ///< ApplyOptions::release
  bool plans_ = false;                    ///< plan() or apply(), and not open() alone.
  bool writes_ = false;                   ///< apply() and not plan().
  bool allow_management_change_ = false;
  std::chrono::seconds window_{0};
  std::size_t max_parallel_ = 0;
  LockHolder holder_;  ///< As the nodes' locks know us.
  std::vector<Diagnostic> diagnostics_;
  std::vector<Diagnostic> remarks_;  ///< Said once, whatever is planned anew.
  bool locked_ = false;
  bool rolls_back_ = false;  ///< Plans come from the journals, not from the file.
};

}  // namespace sparkplan
