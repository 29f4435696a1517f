#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/fleet/planning/planning.h"
#include "engine/fleet/session/run_identity.h"

namespace sparkplan {

/// One node from the approval to the report.
struct ApplyNode {
  explicit ApplyNode(PlannedNode& at) : planned(at), node(at.node) {}
  /// Records the agent's answer about the steps.
  void receive(const std::vector<Step>& steps, const ApplyReply& reply) {
    stopped = stopped || reply.stopped;
    planned.outcomes.receive(steps, reply);
  }

  PlannedNode& planned;
  FleetNode& node;
  NodePlan shown = {};   ///< Of the approved plan, what the report shows, with values that later stages make known.
  bool stopped = false;  ///< The user stopped the run before its end on this node.
};

/// The disruptive steps of one node in one stage.
struct Trial {
  enum class State : std::uint8_t {
    kWaiting,     ///< Not begun.
    kCarriedOut,  ///< Done on the node, and not confirmed yet.
    kShown,       ///< Visible over a new connection.
    kConfirmed,
    kEnded,  ///< The node undid the steps at once, because one failed. The results of the steps say so.
    kUndone,
    kLost,  ///< Unknown: the node does not answer.
  };
  State state = State::kWaiting;
  TrialSteps planned;
  std::chrono::steady_clock::time_point begun;
  std::string host_key;  ///< Of the connection that the steps began on.
  ApplyReply reply;
  std::vector<ProbeTarget> worked_before;  ///< Successful fabric probes that must still succeed.
  std::string why_not;                     ///< The reason against keeping the change.
};

/// One node in the commit-confirm phase.
struct TrialNode {
  explicit TrialNode(ApplyNode& at) : applied(at), planned(at.planned), node(at.node) {}

  ApplyNode& applied;
  PlannedNode& planned;
  FleetNode& node;
  Trial trial;
  bool rolled_back = false;
  std::optional<Error> deferred;  ///< Why its disruptive steps were not begun.
};

struct TrialOptions {
  std::chrono::seconds window{0};  ///< After that time without a confirmation, the node undoes the change.
  std::size_t max_parallel = 0;    ///< The most nodes at the same time after the canary; 0: all.
  std::function<Roster(const FleetNode&)> roster_for;
  bool ignore_jobs = false;  ///< See ApplyRequest::ignore_jobs.
  /// True for the machine-id of the controller's own machine.
  std::function<bool(const std::string&)> is_own_machine = is_this_machine;
};

/// Commit-confirm of disruptive changes, in waves: a canary, then the other nodes. Each stage of an apply fills the
/// nodes with add() and calls carry_out(). After a failure, all later waves are deferred.
class TrialRun {
 public:
  TrialRun(Planning& planning, std::deque<ApplyNode>& nodes, TrialOptions options);

  /// True if the node's disruptive steps go on trial. A directory has no connection to lose.
  bool is_needed(const FleetNode& node) const { return options_.window.count() > 0 && node.known.facts.live; }
  /// Replaces the steps that are on trial on the node in this stage.
  void add(const FleetNode& node, std::vector<Step> steps);
  /// The node's disruptive steps are not begun in this run.
  void refuse(const FleetNode& node, Error why) { nodes_[node.place].deferred = std::move(why); }
  void carry_out();
  const TrialNode& at(const FleetNode& node) const { return nodes_[node.place]; }

 private:
  using Clock = std::chrono::steady_clock;
  using Names = std::set<std::string>;

  /// The waves of the nodes whose steps are not begun and not deferred: a canary, then the others.
  std::deque<Names> planned_waves();
  void hold_partners_of_held_nodes(std::vector<std::string>& names);
  void carry_out_wave(const Names& names);
  /// Why no later wave may begin; empty if nothing went wrong in this one.
  std::string failure_in(const Names& wave) const;
  /// No node of the wave has begun.
  bool is_deferred(const Names& wave) const;
  template <class Work>
  void on_wave(const Names& names, Trial::State state, Work work);
  template <class Work>
  void on_each(Work work);
  void keep(TrialNode& node);
  /// The longest wait for an answer that the other nodes of the wave wait for, too.
  std::chrono::milliseconds patience() const { return std::chrono::milliseconds(options_.window) / 10; }
  void defer(const Names& names, const std::string& why);

  void begin(TrialNode& node);
  void note_begin_failed(TrialNode& node, Error error);
  void reconnect(TrialNode& node);
  /// A new connection to the same machine. Its deadlines are those of the window.
  Result<AgentClient> open_again(const TrialNode& node, Clock::time_point deadline) const;
  Result<AgentClient> open_when_carried_out(const TrialNode& node, Clock::time_point deadline) const;
  Result<void> lock_again(FleetNode& node, Clock::time_point deadline) const;
  Clock::time_point deadline_to_connect(const TrialNode& node) const;

  /// A fabric address that a node has, on a link of that node.
  struct FabricEnd {
    std::size_t place;  ///< Of the node.
    const FabricPort* port;
    std::int64_t mtu;
  };
  /// The ends of all nodes that take part and stay. Made before the threads start: each thread may exclude its own node
  /// at any time, and no thread may look at another one's.
  std::vector<FabricEnd> fabric_ends() const;
  void choose_probes(TrialNode& node, const std::vector<FabricEnd>& ends);
  void probe_again(TrialNode& node, const std::vector<FabricEnd>& ends);
  void ask_neighbours(const Names& names);
  std::vector<std::size_t> neighbours_of(const FleetNode& node) const;
  bool reaches(const std::vector<std::size_t>& neighbours, const FleetNode& node);

  void decide(const Names& names);
  void extend(TrialNode& node);
  void begin_window_again(TrialNode& node);
  void confirm(TrialNode& node);
  /// After a lost answer. True if the node has kept the change; else the trial has another state by then.
  bool is_kept(TrialNode& node, const Error& error);
  void roll_back(TrialNode& node);
  void await_old_state(TrialNode& node);
  void note_rollback_failed(TrialNode& node, Error error);
  void note_confirmed(TrialNode& node);
  void note_rolled_back(TrialNode& node, const std::string& reason, const std::vector<std::string>& not_restored);

  Planning& planning_;
  FleetSession& session_;
  TrialOptions options_;
  std::deque<TrialNode> nodes_;
};

template <class Work>
void TrialRun::on_each(Work work) {
  // The window of each node has begun, or is about to: a turn would use it up. --max-parallel limits a wave.
  session_.on_all_at_once(
      nodes_, work, [this](TrialNode& node) { keep(node); }, std::min(session_.options().heartbeat, patience()));
}

template <class Work>
void TrialRun::on_wave(const Names& names, Trial::State state, Work work) {
  on_each([&](TrialNode& node) {
    if (names.contains(node.node.name()) && node.trial.state == state) work(node);
  });
}

}  // namespace sparkplan
