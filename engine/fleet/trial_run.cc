// ClusterRun: changes that may cut a node off, from the canary to the last wave.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/fleet/cluster_run.h"
#include "engine/fleet/node_reply.h"
#include "engine/fleet/run_identity.h"
#include "engine/fleet/waves.h"
#include "engine/plan/planner.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{2'000};
/// The kernel shows at once what was applied; a renderer may still be at it.
constexpr milliseconds kPatienceToShow{5'000};
/// An agent that says nothing for so long has been cut off, not held up.
constexpr milliseconds kLongestSilence{20'000};

milliseconds left_until(Clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end - Clock::now()));
}

}  // namespace

/// The rest of the window is for deciding, and for the nodes to hear of it.
Clock::time_point ClusterRun::deadline_to_connect(const NodeRun& node) const {
  return node.trial.begun + std::chrono::duration_cast<Clock::duration>(window_ * 0.8);
}

void ClusterRun::on_wave(const std::set<std::string>& names, TrialRun::State state,
                         const std::function<void(NodeRun&)>& work) {
  on_each([&](NodeRun& node) {
    if (names.contains(node.spec->name.str()) && node.trial.state == state) work(node);
  });
}

void ClusterRun::hold_back(const std::set<std::string>& names, const std::string& why) {
  for (auto& node : nodes_) {
    if (!names.contains(node.spec->name.str()) || !active(node)) continue;
    node.held_back = Error{ErrorCode::kFailed, "what may cut it off was not begun: " + why, {}, std::nullopt, ""};
    node.trial.steps.clear();
  }
}

void ClusterRun::carry_out_trials() {
  std::vector<std::string> names;
  for (auto& node : nodes_) {
    if (!active(node) || node.stopped || node.held_back) continue;
    std::erase_if(node.trial.steps, [&](const Step& step) {
      return std::any_of(step.needs.begin(), step.needs.end(),
                         [&](const ResourceId& id) { return node.failures.contains(id); });
    });
    if (!node.trial.steps.empty()) names.push_back(node.spec->name.str());
  }
  // The machine we run on comes last: what goes wrong there takes the controller with it.
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return std::none_of(nodes_.begin(), nodes_.end(), [&](const NodeRun& node) {
      return node.spec->name.str() == name && is_this_machine(node.known.facts.machine_id);
    });
  });
  std::string went_wrong;
  for (const auto& wave : waves(names, cluster_.cables, max_parallel_)) {
    const std::set<std::string> members(wave.begin(), wave.end());
    if (!went_wrong.empty()) {
      hold_back(members, went_wrong);
    } else if (options_.stop.stop_requested()) {
      hold_back(members, "the run was stopped");
    } else {
      carry_out_wave(members);
    }
    for (const auto& node : nodes_) {
      if (!members.contains(node.spec->name.str()) || !went_wrong.empty()) continue;
      if (node.rolled_back) went_wrong = "it was rolled back on " + node.spec->name.str();
      if (node.trial.state == TrialRun::State::kEnded) went_wrong = "it failed on " + node.spec->name.str();
      if (node.trial.state == TrialRun::State::kLost) went_wrong = node.spec->name.str() + " does not answer";
    }
  }
}

void ClusterRun::carry_out_wave(const std::set<std::string>& names) {
  using State = TrialRun::State;
  on_wave(names, State::kWaiting, [&](NodeRun& node) { choose_probes(node); });
  on_wave(names, State::kWaiting, [&](NodeRun& node) { begin_trial(node); });
  on_wave(names, State::kCarriedOut, [&](NodeRun& node) { reach_anew(node); });
  // Both ends of every cable have changed by now.
  on_wave(names, State::kShown, [&](NodeRun& node) { probe_again(node); });
  on_wave(names, State::kShown, [&](NodeRun& node) { ask_a_neighbour(node); });
  decide(names);
}

void ClusterRun::begin_trial(NodeRun& node) {
  TrialRun& trial = node.trial;
  const auto count = trial.steps.size();
  tell(node, "trying " + std::to_string(count) + (count == 1 ? " step" : " steps") + " that may cut it off");
  for (const auto& step : trial.steps) node.in_flight.insert(step.resources.begin(), step.resources.end());
  // The plan is made anew before the trial is over.
  trial.after_steps = node.plan.after_steps;
  trial.begun = Clock::now();
  const auto silence = std::min(kLongestSilence, std::chrono::duration_cast<milliseconds>(window_ * 0.4));
  auto reply = node.client->try_out(
      {run_, node.spec->name.str(), new_roster_of(node, new_roster()), trial.steps, trial.after_steps, window_.count()},
      silence);
  if (!reply) {
    // An agent that says no is still there to be asked; one that is cut off is not.
    const bool may_be_cut = reply.error().code == ErrorCode::kUnreachable || reply.error().code == ErrorCode::kFailed;
    const bool answered = !may_be_cut || (reply.error().code == ErrorCode::kFailed && node.client->call(PingRequest{}));
    if (answered) {
      node.in_flight.clear();
      trial.state = TrialRun::State::kEnded;
      return give_up(node, std::move(reply).error());
    }
    // Cut, perhaps for good: the node itself knows how far it came.
    trial.state = TrialRun::State::kCarriedOut;
    return;
  }
  const bool all_done = std::all_of(reply->results.begin(), reply->results.end(),
                                    [](const StepResult& result) { return result.outcome == StepOutcome::kDone; });
  trial.reply = std::move(*reply);
  trial.state = all_done ? TrialRun::State::kCarriedOut : TrialRun::State::kEnded;
  if (all_done) return;
  node.in_flight.clear();
  note_results(node, trial.reply, trial.steps);
  // Objections come before anything is begun; then there was nothing to undo.
  const auto failed = std::find_if(trial.reply.results.begin(), trial.reply.results.end(), [](const auto& result) {
    return result.outcome == StepOutcome::kFailed || result.outcome == StepOutcome::kStale;
  });
  const bool begun = std::any_of(trial.reply.results.begin(), trial.reply.results.end(),
                                 [](const auto& result) { return result.outcome == StepOutcome::kUndone; });
  if (begun && failed != trial.reply.results.end()) note_rolled_back(node, failed->error->describe());
}

Result<AgentClient> ClusterRun::open_again(const NodeRun& node, Clock::time_point deadline) const {
  auto options = options_.agent;
  options.install = InstallPolicy::kNever;
  // What was begun is brought to its end, also when the user has asked to stop.
  options.connect.stop = {};
  auto pause = kFirstPause;
  Error last{ErrorCode::kUnreachable, "there was no time to connect", {}, std::nullopt, ""};
  while (left_until(deadline).count() > 0) {
    options.connect.timeout =
        std::min(options_.agent.connect.timeout, std::max(milliseconds(500), left_until(deadline)));
    options.reply_timeout = options.connect.timeout;
    auto client = AgentClient::open(*node.spec, options, second_request(node));
    if (client) {
      const auto& seen = client->facts().facts.machine_id;
      if (seen == node.known.facts.machine_id) return client;
      last = Error{
          ErrorCode::kUntrusted, "another machine answers there: its machine-id is " + seen, {}, std::nullopt, ""};
    } else {
      last = std::move(client).error();
    }
    std::this_thread::sleep_for(std::min(pause, left_until(deadline)));
    pause = std::min(pause * 2, kLongestPause);
  }
  return failure(std::move(last));
}

/// The agent of the connection before may not have noticed its end yet.
Result<void> ClusterRun::lock_again(NodeRun& node, Clock::time_point deadline) const {
  auto locked = node.client->lock(holder_, purpose_of(node));
  while (!locked && locked.error().code == ErrorCode::kBusy && left_until(deadline).count() > 0) {
    std::this_thread::sleep_for(kFirstPause);
    locked = node.client->lock(holder_, purpose_of(node));
  }
  return locked;
}

/// The old connection may live on by luck; only one that was made afterwards proves anything.
void ClusterRun::reach_anew(NodeRun& node) {
  TrialRun& trial = node.trial;
  tell(node, "connecting anew");
  node.client.reset();
  const auto deadline = deadline_to_connect(node);
  auto client = open_again(node, deadline);
  while (client && client->facts().transaction && !client->facts().transaction->carried_out &&
         client->facts().transaction->state == TransactionState::kArmed && client->facts().transaction->at_work &&
         left_until(deadline).count() > 0) {
    std::this_thread::sleep_for(kFirstPause);
    if (auto again = client->refresh_facts(second_request(node)); !again) client = open_again(node, deadline);
  }
  if (!client) {
    trial.why_not = "it could not be reached any more at " + node.spec->address + ": " + client.error().describe();
    return;
  }
  if (auto learned = learn_again(node, client->facts()); !learned) {
    trial.why_not = learned.error().describe();
    return;
  }
  node.client.emplace(std::move(*client));
  const auto& transaction = node.known.transaction;
  if (!transaction || transaction->run != run_ || transaction->state != TransactionState::kArmed) {
    trial.why_not = transaction && !transaction->reason.empty() ? transaction->reason : "the node has undone it";
    return;
  }
  if (!transaction->carried_out) {
    trial.why_not = "its steps did not come to an end";
    return;
  }
  if (auto locked = lock_again(node, deadline); !locked) {
    trial.why_not = locked.error().describe();
    return;
  }
  see_what_was_applied(node);
}

/// The manifest as it will be once the trial is confirmed: what is seen has to be in sync with that.
void ClusterRun::foresee_confirmation(NodeRun& node) {
  if (!node.known.manifest) return;
  Manifest& manifest = *node.known.manifest;
  for (const Step& step : node.trial.steps) {
    if (const auto managed = manifest.artifacts.find(step.artifact); managed != manifest.artifacts.end()) {
      managed->second.written_digest = digest(step.after);
      managed->second.intended_digest.clear();
    }
    for (const ResourceId& id : step.resources) {
      const auto after = node.trial.after_steps.find(id);
      if (after == node.trial.after_steps.end()) continue;
      if (after->second.is_null()) {
        manifest.resources.erase(id);
      } else {
        manifest.resources[id].last_applied = after->second;
      }
    }
  }
}

void ClusterRun::see_what_was_applied(NodeRun& node) {
  TrialRun& trial = node.trial;
  const auto names = names_to_observe(node.desired, node.known.manifest ? &*node.known.manifest : nullptr);
  if (!rolls_back_) foresee_confirmation(node);
  const auto end = std::min(Clock::now() + kPatienceToShow, deadline_to_connect(node));
  if (rolls_back_) return see_what_was_undone(node);
  while (true) {
    auto observed = observe_node(*node.client, {names}, registry_);
    if (!observed) {
      trial.why_not = "it could not be looked at: " + observed.error().describe();
      return;
    }
    node.observed = std::move(*observed);
    make_plan(node);
    const auto still_wanted =
        std::find_if(node.plan.changes.begin(), node.plan.changes.end(), [&](const Change& change) {
          return change.origin != Origin::kForeign &&
                 std::any_of(trial.steps.begin(), trial.steps.end(), [&](const Step& step) {
                   return std::find(step.resources.begin(), step.resources.end(), change.id) != step.resources.end();
                 });
        });
    if (still_wanted == node.plan.changes.end()) {
      trial.state = TrialRun::State::kShown;
      return;
    }
    if (left_until(end).count() == 0) {
      trial.why_not = "the node does not show what was applied: " + still_wanted->id.str();
      return;
    }
    std::this_thread::sleep_for(kFirstPause);
  }
}

/// What is left of the run that is rolled back is what its steps have not brought back.
void ClusterRun::see_what_was_undone(NodeRun& node) {
  TrialRun& trial = node.trial;
  auto left = what_undoes(*node.client, {node.undo->run}, registry_);
  if (!left) {
    trial.why_not = "it could not be looked at: " + left.error().describe();
    return;
  }
  for (const Step& step : left->steps) {
    const bool tried = std::any_of(trial.steps.begin(), trial.steps.end(),
                                   [&](const Step& one) { return one.artifact == step.artifact; });
    if (tried && trial.why_not.empty())
      trial.why_not = "the node does not show what was put back: " + step.artifact.str();
  }
  if (trial.why_not.empty()) trial.state = TrialRun::State::kShown;
}

}  // namespace sparkplan
