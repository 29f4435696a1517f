// TrialRun: the change on trial is confirmed or undone.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/fleet/apply/trial_run.h"
#include "engine/fleet/planning/waves.h"
#include "engine/fleet/session/node_report.h"

namespace sparkplan {
namespace {

/// The time after the end of its window in which a node has to be back in its earlier state.
constexpr std::chrono::seconds kPatienceForRollback{15};
/// The time for interfaces whose renderers wait for their neighbours, if the node answers meanwhile.
constexpr std::chrono::seconds kPatienceForWork{120};
constexpr std::chrono::seconds kEnoughToDecide{10};
constexpr std::chrono::milliseconds kPauseBetweenLooks{300};

constexpr auto kUndoneBeforeConfirmation = "split: the node rolled back before the confirmation";

}  // namespace

/// Nodes that cables join keep the change together or undo it together. Other nodes are independent.
void TrialRun::decide(const Names& names) {
  using State = Trial::State;
  const auto node_called = [&](const std::string& name) -> TrialNode& {
    return *std::find_if(nodes_.begin(), nodes_.end(), [&](const TrialNode& one) { return one.node.name() == name; });
  };
  for (const auto& part : coupled({names.begin(), names.end()}, session_.cluster().cables)) {
    const auto culprit = std::find_if(part.begin(), part.end(), [&](const std::string& name) {
      const Trial& trial = node_called(name).trial;
      return trial.state != State::kShown || !trial.why_not.empty();
    });
    if (culprit == part.end()) continue;
    for (const auto& name : part) {
      Trial& trial = node_called(name).trial;
      if (trial.state != State::kShown && trial.state != State::kCarriedOut) continue;
      // Not visible, or no longer wanted because the other end of its cable is undone.
      if (trial.why_not.empty()) {
        const auto& deferred = node_called(*culprit).deferred;
        trial.why_not = *culprit + (deferred ? ", at the other end of its cable, was not changed: " + deferred->message
                                             : " at the other end of its cable rolls back");
      }
      trial.state = State::kCarriedOut;
    }
  }
  on_wave(names, State::kShown, [&](TrialNode& node) { extend(node); });
  on_wave(names, State::kShown, [&](TrialNode& node) { confirm(node); });
  on_wave(names, State::kCarriedOut, [&](TrialNode& node) { roll_back(node); });
}

/// A node that waits for the others must not reach the end of its window.
void TrialRun::extend(TrialNode& one) {
  const auto end = one.trial.begun + options_.window;
  const auto least = std::min<Clock::duration>(kEnoughToDecide, options_.window / 3);
  if (end - Clock::now() < least) begin_window_again(one);
}

void TrialRun::begin_window_again(TrialNode& one) {
  const auto asked = Clock::now();
  const auto extended = one.node.client->call(ExtendRequest{session_.run(), options_.window.count()}, patience());
  if (extended) one.trial.begun = asked;
}

/// A slow node of a wave must not use up the windows of the others. A change that no new connection has shown yet gets
/// no more time. It may have broken the connection, so that a silent node is not excluded.
void TrialRun::keep(TrialNode& one) {
  using State = Trial::State;
  const Trial& trial = one.trial;
  if (trial.state == State::kCarriedOut) {
    (void)one.node.client->call(PingRequest{}, patience());
  } else if (trial.state == State::kShown && trial.why_not.empty() &&
             Clock::now() - trial.begun >= options_.window / 3) {
    begin_window_again(one);
  } else {
    session_.keep_alive(one.node);
  }
}

bool TrialRun::is_kept(TrialNode& one, const Error& error) {
  FleetNode& node = one.node;
  const auto lost = [&](Error why) {
    one.trial.state = Trial::State::kLost;
    session_.give_up(node, std::move(why).within("confirm the change"));
    return false;
  };
  auto client = open_again(one, one.trial.begun + options_.window + kPatienceForRollback);
  if (!client) return lost(std::move(client).error());
  if (auto learned = session_.learn(node, client->take_facts()); !learned) return lost(std::move(learned).error());
  node.client.emplace(std::move(*client));
  const auto& transaction = node.known.transaction;
  const bool kept =
      !transaction || transaction->run != session_.run() || transaction->state == TransactionState::kCommitted;
  if (!kept && transaction->state == TransactionState::kArmed) {
    one.trial.why_not = "it could not be confirmed: " + error.describe();
    one.trial.state = Trial::State::kCarriedOut;
    return false;
  }
  if (!kept) {
    note_rolled_back(one, kUndoneBeforeConfirmation, transaction->not_restored);
    return false;
  }
  if (auto locked = lock_again(node, Clock::now() + kPatienceForRollback); !locked) {
    note_confirmed(one);
    session_.give_up(node, std::move(locked).error().within("confirm the change"));
    return false;
  }
  return true;
}

void TrialRun::confirm(TrialNode& one) {
  const auto reply = one.node.client->call(ConfirmRequest{session_.run()});
  // Without an answer the node may have confirmed the change, and only the answer was lost.
  if (!reply && !is_kept(one, reply.error())) return;
  if (reply && reply->state != TransactionState::kCommitted && reply->state != TransactionState::kArmed)
    return note_rolled_back(one, kUndoneBeforeConfirmation, reply->not_restored);
  note_confirmed(one);
  session_.show(one.node, "confirmed", Activity::kWaiting);
}

void TrialRun::note_confirmed(TrialNode& one) {
  Trial& trial = one.trial;
  trial.state = Trial::State::kConfirmed;
  const auto& steps = trial.planned.steps;
  if (trial.reply.results.size() != steps.size()) {
    trial.reply.results.clear();
    for (const Step& step : steps) trial.reply.results.push_back({step.artifact, StepOutcome::kDone, std::nullopt});
  }
  one.applied.receive(steps, trial.reply);
}

void TrialRun::roll_back(TrialNode& one) {
  FleetNode& node = one.node;
  const std::string& why = one.trial.why_not;
  session_.show(node, "rolling back: " + why);
  if (node.client) {
    auto reply = node.client->call(RollBackRequest{session_.run(), why});
    if (reply && reply->undone) return note_rolled_back(one, why, reply->not_restored);
    // The error names the change that could not be undone, and the command to enter.
    if (!reply && reply.error().code == ErrorCode::kFailed && !reply.error().hint.empty())
      return note_rollback_failed(one, std::move(reply).error().within("undo the change"));
    node.client.reset();
  }
  await_old_state(one);
}

/// Without a connection, the node's own timer undoes the change.
void TrialRun::await_old_state(TrialNode& one) {
  const std::string& why = one.trial.why_not;
  auto end = one.trial.begun + options_.window + kPatienceForRollback;
  const auto end_of_work = end + kPatienceForWork;
  bool reached = false;
  while (Clock::now() < end) {
    auto client = open_again(one, end);
    reached = client.has_value();
    if (!reached) break;
    const auto& transaction = client->facts().transaction;
    const bool ours = transaction && transaction->run == session_.run();
    if (ours && transaction->state == TransactionState::kRollbackFailed)
      return note_rollback_failed(one, Error{ErrorCode::kFailed,
                                             "the rollback is incomplete: " + transaction->reason,
                                             {},
                                             std::nullopt,
                                             repair_words(transaction->manual_commands)});
    if (!ours) return note_rolled_back(one, why, {});
    if (transaction->undone) return note_rolled_back(one, why, transaction->not_restored);
    if (transaction->at_work) end = end_of_work;
    // Reached before the end of its window: there is no reason to wait for that.
    if (transaction->state == TransactionState::kArmed) (void)client->call(RollBackRequest{session_.run(), why});
    std::this_thread::sleep_for(kPauseBetweenLooks);
  }
  one.trial.state = Trial::State::kLost;
  session_.give_up(one.node, Error{ErrorCode::kUnreachable,
                                   why + (reached ? "; it still undoes the change after its rollback deadline"
                                                  : "; still unreachable after its rollback deadline"),
                                   {},
                                   std::nullopt,
                                   "log in at its console and run: journalctl -t sparkplan"});
}

void TrialRun::note_rollback_failed(TrialNode& one, Error error) {
  one.rolled_back = true;
  one.trial.state = Trial::State::kUndone;
  session_.give_up(one.node, std::move(error));
}

void TrialRun::note_rolled_back(TrialNode& one, const std::string& reason,
                                const std::vector<std::string>& not_restored) {
  one.trial.state = Trial::State::kUndone;
  one.rolled_back = true;
  const std::string done = "its earlier state is restored" + not_restored_words(not_restored);
  const Error error{ErrorCode::kVerifyFailed, done + ": " + reason, {}, std::nullopt, ""};
  one.planned.outcomes.roll_back(one.trial.planned.steps, error);
  // Closing the connection also releases the lock, but perhaps later than the next run begins.
  if (one.node.client) (void)one.node.client->unlock();
  session_.give_up(one.node, error);
}

}  // namespace sparkplan
