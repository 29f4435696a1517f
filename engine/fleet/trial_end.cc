// ClusterRun: what was on trial is confirmed, or undone.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/fleet/cluster_run.h"
#include "engine/fleet/waves.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// After the end of its window a node has that long to be back as it was.
constexpr std::chrono::seconds kPatienceForRollback{15};
constexpr std::chrono::seconds kEnoughToDecide{10};
constexpr std::chrono::milliseconds kPauseBetweenLooks{300};

}  // namespace

/// Nodes that a cable joins stay or go back together; the others decide for themselves.
void ClusterRun::decide(const std::set<std::string>& names) {
  using State = TrialRun::State;
  const auto node_called = [&](const std::string& name) -> NodeRun& {
    return *std::find_if(nodes_.begin(), nodes_.end(),
                         [&](const NodeRun& node) { return node.spec->name.str() == name; });
  };
  for (const auto& part : coupled({names.begin(), names.end()}, cluster_.cables)) {
    std::string culprit;
    for (const auto& name : part) {
      const NodeRun& node = node_called(name);
      if (culprit.empty() && (node.trial.state != State::kShown || !node.trial.why_not.empty())) culprit = name;
    }
    if (culprit.empty()) continue;
    for (const auto& name : part) {
      NodeRun& node = node_called(name);
      if (node.trial.state != State::kShown && node.trial.state != State::kCarriedOut) continue;
      // Not shown, or not wanted any more because the other end of its cable has to go back.
      if (node.trial.why_not.empty()) node.trial.why_not = culprit + ", at the other end of its cable, had to go back";
      node.trial.state = State::kCarriedOut;
    }
  }
  on_wave(names, State::kShown, [&](NodeRun& node) { extend(node); });
  on_wave(names, State::kShown, [&](NodeRun& node) { confirm(node); });
  on_wave(names, State::kCarriedOut, [&](NodeRun& node) { roll_back(node); });
}

/// Whoever waits for the others must not lose the race against its own timer.
void ClusterRun::extend(NodeRun& node) {
  const auto end = node.trial.begun + window_;
  const auto least = std::min<Clock::duration>(kEnoughToDecide, window_ / 3);
  if (end - Clock::now() >= least) return;
  auto extended = node.client->call(ExtendRequest{run_, window_.count()});
  if (extended) node.trial.begun = Clock::now();
}

void ClusterRun::confirm(NodeRun& node) {
  TrialRun& trial = node.trial;
  auto told = node.client->call(ConfirmRequest{run_});
  if (!told) {
    // The answer may be what was lost: the node knows.
    auto client = open_again(node, trial.begun + window_ + kPatienceForRollback);
    if (!client) {
      trial.state = TrialRun::State::kLost;
      return give_up(node, std::move(client).error().within("confirm the change"));
    }
    if (auto learned = learn_again(node, client->facts()); !learned) {
      trial.state = TrialRun::State::kLost;
      return give_up(node, std::move(learned).error().within("confirm the change"));
    }
    node.client.emplace(std::move(*client));
    const auto& transaction = node.known.transaction;
    const bool kept = !transaction || transaction->run != run_ || transaction->state == TransactionState::kCommitted;
    if (!kept && transaction->state == TransactionState::kArmed) {
      trial.why_not = "it could not be confirmed: " + told.error().describe();
      trial.state = TrialRun::State::kCarriedOut;
      return;
    }
    if (!kept) return note_rolled_back(node, "split: the node had undone it before it was confirmed");
    const auto deadline = Clock::now() + kPatienceForRollback;
    if (auto locked = lock_again(node, deadline); !locked) {
      node.in_flight.clear();
      return give_up(node, std::move(locked).error().within("confirm the change"));
    }
  } else if (told->state != TransactionState::kCommitted && told->state != TransactionState::kArmed) {
    return note_rolled_back(node, "split: the node had undone it before it was confirmed");
  }
  trial.state = TrialRun::State::kConfirmed;
  node.in_flight.clear();
  if (trial.reply.results.size() != trial.steps.size()) {
    trial.reply.results.clear();
    for (const Step& step : trial.steps)
      trial.reply.results.push_back({step.artifact, StepOutcome::kDone, std::nullopt});
  }
  note_results(node, trial.reply, trial.steps);
  tell(node, "confirmed", Activity::kWaiting);
}

void ClusterRun::roll_back(NodeRun& node) {
  tell(node, "undoing it: " + node.trial.why_not);
  if (node.client) {
    auto told = node.client->call(RollBackRequest{run_, node.trial.why_not});
    if (told && told->undone) return note_rolled_back(node, node.trial.why_not);
    if (!told && told.error().code == ErrorCode::kFailed && !told.error().hint.empty()) {
      // It says itself what could not be undone, and what to type.
      node.rolled_back = true;
      node.trial.state = TrialRun::State::kUndone;
      return give_up(node, std::move(told).error().within("undo the change"));
    }
    node.client.reset();
  }
  await_old_state(node);
}

/// Nobody gets through, so the node's own timer does it.
void ClusterRun::await_old_state(NodeRun& node) {
  const auto end = node.trial.begun + window_ + kPatienceForRollback;
  while (Clock::now() < end) {
    auto client = open_again(node, end);
    if (!client) break;
    const auto& transaction = client->facts().transaction;
    const bool ours = transaction && transaction->run == run_;
    if (ours && transaction->state == TransactionState::kRollbackFailed)
      return note_rollback_failed(node, *transaction);
    if (!ours || transaction->undone) return note_rolled_back(node, node.trial.why_not);
    // Reached before its timer ran out: no reason to wait for that.
    if (transaction->state == TransactionState::kArmed) (void)client->call(RollBackRequest{run_, node.trial.why_not});
    std::this_thread::sleep_for(kPauseBetweenLooks);
  }
  node.trial.state = TrialRun::State::kLost;
  give_up(node,
          Error{ErrorCode::kUnreachable,
                node.trial.why_not + "; nor does it answer after the time in which it undoes the change by itself",
                {},
                std::nullopt,
                "look at it at its console: journalctl -t sparkplan says what it did"});
}

void ClusterRun::note_rollback_failed(NodeRun& node, const TransactionReport& transaction) {
  node.rolled_back = true;
  node.trial.state = TrialRun::State::kUndone;
  Error error{ErrorCode::kFailed, "not everything could be undone: " + transaction.reason, {}, std::nullopt, ""};
  for (const auto& command : transaction.manual_commands) {
    error.hint += (error.hint.empty() ? "on the node, as root: " : " && ") + command;
  }
  give_up(node, std::move(error));
}

void ClusterRun::note_rolled_back(NodeRun& node, const std::string& told) {
  node.trial.state = TrialRun::State::kUndone;
  node.rolled_back = true;
  node.in_flight.clear();
  const Error error{ErrorCode::kVerifyFailed, "it is as it was before: " + told, {}, std::nullopt, ""};
  // Closing the connection would free the lock as well, only somewhat later than the next run may come.
  if (node.client) (void)node.client->unlock();
  for (const Step& step : node.trial.steps) {
    for (const ResourceId& id : step.resources) node.failures.emplace(id, error);
  }
  give_up(node, error);
}

}  // namespace sparkplan
