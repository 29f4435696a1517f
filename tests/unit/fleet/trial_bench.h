#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/fleet/apply/trial_run.h"

namespace sparkplan::test {

/// A node as its agent answers. Each node's connection has one thread at a time.
struct ScriptedNode {
  std::string name;
  std::string own_address;
  std::optional<TransactionReport> transaction;
  std::function<bool(const ProbeTarget&)> reaches = [](const ProbeTarget&) { return true; };
  std::vector<ProbeTarget> probed;
  std::vector<RunningJob> jobs;                      ///< The jobs that its agent finds when a trial is to begin.
  int trials = 0;                                    ///< How often a trial was to begin.
  std::optional<Error> failure;                      ///< The answer to a request to begin a trial.
  TransactionState left = TransactionState::kBegun;  ///< The state of its trial then. kBegun: it has none.
  std::vector<std::string> not_restored;             ///< The parts that its rollback does not restore.
  bool last_step_fails = false;                      ///< The steps before it are undone.
  bool answers_rollback = true;                      ///< Otherwise only its facts tell of the rollback.
  bool undoes_before_confirmation = false;           ///< Its timer is faster than the confirmation.
  int connections = 0;                               ///< To its address.
  /// The connection with that number leads to another machine; 0: none does.
  int other_machine = 0;
  std::function<void()> when_locked = [] {};
  std::chrono::milliseconds patience{0};  ///< Of the last request to it.
  std::atomic<bool> cut{false};           ///< The connection breaks.
  std::atomic<int> users{0};              ///< Threads that are in a call now.
  std::atomic<bool> used_by_two{false};

  /// Waits until the agent was pinged that many times more; false after twenty seconds.
  bool is_pinged(int times) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&, until = pings + times] { return pings >= until; });
  }
  /// Waits until its window has begun again; false after twenty seconds.
  bool is_extended() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return extensions > 0; });
  }
  /// Counts one more of `what`, and wakes those that wait for it.
  void note(int& what) {
    const std::lock_guard lock(mutex);
    ++what;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  int pings = 0;
  int extensions = 0;
};

/// A job that runs on a node.
inline const RunningJob kTraining{"20260301T120000Z-4f9a1c07", "nvidia",      4242,
                                  "2026-03-01T12:00:00Z",      "anna@laptop", "train"};

/// n1 is the controller's own machine and has a disruptive step; the others only take part, unless the case says more.
class TrialBench {
 public:
  explicit TrialBench(int nodes);

  /// The node with this name.
  ScriptedNode& node(const std::string& name) { return *scripts_.at(name); }

  /// Carries out the trial. Returns how far n1 is, and notes why its change is not kept.
  Trial::State carry_out();

  /// Locks all nodes, one after the other. False if one of them was not pinged while the last one delayed its answer.
  bool is_heard_during_lock_of_last();
  /// Locks all nodes, and computes something for n1 that lasts until each other node was pinged. False if one was not.
  bool is_heard_during_work_on_first();

  /// Adds a cable between two nodes.
  void join(const std::string& one, const std::string& other) {
    cluster_.cables.emplace_back(*NodeName::parse(one), *NodeName::parse(other));
  }

  std::chrono::seconds window{60};             ///< In which a change is confirmed.
  std::vector<std::string> excluded;           ///< Of --exclude.
  bool ignore_jobs = false;                    ///< As --ignore-jobs.
  int changing = 1;                            ///< The first so many nodes have a disruptive step.
  int steps = 1;                               ///< Of each node that has disruptive steps.
  int changing_later = 0;                      ///< So many nodes after them have one in a second stage.
  std::string held;                            ///< A node on which a job ran when the plan was made.
  std::map<std::string, Trial::State> states;  ///< Of all nodes, after the trial.
  std::string why_not;                         ///< Why the change of n1 is not kept.
  std::string error;                           ///< Of n1, after the trial.
  bool may_have_changed = false;               ///< See ChangeOutcomes; of n1, after the trial.
  std::optional<Error> deferred;               ///< Why the change of n1 was not started.
  std::vector<std::string> failed;             ///< Nodes that were excluded.
  std::chrono::milliseconds patience{0};       ///< Of a request to n1 after the trial.

 private:
  RunOptions run_options();

  Cluster cluster_;
  std::map<std::string, std::unique_ptr<ScriptedNode>> scripts_;
};

}  // namespace sparkplan::test
