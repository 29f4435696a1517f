// TrialRun: disruptive changes from the canary to the last wave.
#include "engine/fleet/apply/trial_run.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "engine/fleet/planning/waves.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{2'000};
/// The kernel shows a change at once, but a renderer such as networkd needs time.
constexpr milliseconds kPatienceToShow{5'000};
/// After this silence, the agent counts as disconnected.
constexpr milliseconds kLongestSilence{20'000};

milliseconds left_until(std::chrono::steady_clock::time_point end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
  return std::max(milliseconds(0), left);
}

bool is_at_work(const std::optional<TransactionReport>& transaction) {
  return transaction && !transaction->carried_out && transaction->state == TransactionState::kArmed &&
         transaction->at_work;
}

bool is_done(const StepResult& result) { return result.outcome == StepOutcome::kDone; }

}  // namespace

TrialRun::TrialRun(Planning& planning, std::deque<ApplyNode>& nodes, TrialOptions options)
    : planning_(planning), session_(planning.session()), options_(std::move(options)) {
  for (ApplyNode& node : nodes) nodes_.emplace_back(node);
}

void TrialRun::add(const FleetNode& node, std::vector<Step> steps) {
  Trial& trial = nodes_[node.place].trial;
  trial = Trial();
  trial.planned.steps = std::move(steps);
}

/// The rest of the window is for the decision and its way to the nodes.
TrialRun::Clock::time_point TrialRun::deadline_to_connect(const TrialNode& node) const {
  return node.trial.begun + std::chrono::duration_cast<Clock::duration>(options_.window * 0.8);
}

void TrialRun::defer(const Names& names, const std::string& why) {
  for (auto& one : nodes_) {
    if (!names.contains(one.node.name()) || !one.node.active()) continue;
    one.deferred = Error{ErrorCode::kFailed, "its disruptive changes were not started: " + why, {}, std::nullopt, ""};
    one.trial.planned.steps.clear();
  }
}

std::deque<TrialRun::Names> TrialRun::planned_waves() {
  std::vector<std::string> names;
  for (auto& one : nodes_) {
    // The trial of an earlier stage has ended.
    if (!one.node.active() || one.applied.stopped || one.deferred || one.trial.state != Trial::State::kWaiting)
      continue;
    auto& steps = one.trial.planned.steps;
    std::erase_if(steps, [&](const Step& step) {
      return std::any_of(step.needs.begin(), step.needs.end(),
                         [&](const ResourceId& id) { return one.planned.outcomes.of(id).failure.has_value(); });
    });
    if (!steps.empty()) names.push_back(one.node.name());
  }
  hold_partners_of_held_nodes(names);
  // The controller's own machine comes last: a failure there also ends the controller.
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return std::none_of(nodes_.begin(), nodes_.end(), [&](const TrialNode& one) {
      return one.node.name() == name && options_.is_own_machine(one.node.known.facts.machine_id);
    });
  });
  std::deque<Names> queue;
  for (const auto& wave : waves(names, session_.cluster().cables, options_.max_parallel)) {
    queue.emplace_back(wave.begin(), wave.end());
  }
  return queue;
}

/// Both ends of a cable change together. So a job on one end holds the change of the other end, too.
void TrialRun::hold_partners_of_held_nodes(std::vector<std::string>& names) {
  std::vector<std::string> all = names;
  std::map<std::string, const TrialNode*> held;
  for (const auto& one : nodes_) {
    if (!one.deferred || one.deferred->code != ErrorCode::kBusy) continue;
    all.push_back(one.node.name());
    held.emplace(one.node.name(), &one);
  }
  for (const auto& part : coupled(all, session_.cluster().cables)) {
    const auto first = std::find_if(part.begin(), part.end(), [&](const auto& name) { return held.contains(name); });
    if (first == part.end()) continue;
    for (auto& one : nodes_) {
      const auto& name = one.node.name();
      if (held.contains(name) || std::find(part.begin(), part.end(), name) == part.end()) continue;
      const Error& why = *held.at(*first)->deferred;
      one.deferred = Error{
          ErrorCode::kBusy, *first + ", at the other end of its cable: " + why.message, {}, std::nullopt, why.hint};
      one.trial.planned.steps.clear();
      std::erase(names, name);
    }
  }
}

std::string TrialRun::failure_in(const Names& wave) const {
  for (const auto& one : nodes_) {
    const auto& name = one.node.name();
    if (!wave.contains(name)) continue;
    if (one.trial.state == Trial::State::kLost) return name + " does not answer";
    if (one.trial.state == Trial::State::kEnded) return "a change failed on " + name;
    if (one.rolled_back) return "a change was rolled back on " + name;
  }
  return "";
}

bool TrialRun::is_deferred(const Names& wave) const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [&](const TrialNode& one) { return one.deferred.has_value() || !wave.contains(one.node.name()); });
}

void TrialRun::carry_out() {
  std::string went_wrong;
  bool had_canary = false;
  auto queue = planned_waves();
  while (!queue.empty()) {
    const Names wave = std::move(queue.front());
    queue.pop_front();
    if (went_wrong.empty() && session_.stop_requested()) went_wrong = "the run was stopped";
    if (!went_wrong.empty()) {
      defer(wave, went_wrong);
      continue;
    }
    carry_out_wave(wave);
    went_wrong = failure_in(wave);
    had_canary = had_canary || !is_deferred(wave);
    // A job has begun on the canary. Before a change is confirmed on one node, it does not go to all others: the nodes
    // that are left queue again, with a canary among them.
    if (!had_canary) queue = planned_waves();
  }
}

void TrialRun::carry_out_wave(const Names& names) {
  using State = Trial::State;
  const auto ends_before = fabric_ends();
  on_wave(names, State::kWaiting, [&](TrialNode& node) { choose_probes(node, ends_before); });
  on_wave(names, State::kWaiting, [&](TrialNode& node) { begin(node); });
  on_wave(names, State::kCarriedOut, [&](TrialNode& node) { reconnect(node); });
  // Now both ends of every cable have changed.
  const auto ends_after = fabric_ends();
  on_wave(names, State::kShown, [&](TrialNode& node) { probe_again(node, ends_after); });
  ask_neighbours(names);
  decide(names);
  // A new connection has had the short deadlines of its window.
  for (TrialNode& one : nodes_) {
    if (names.contains(one.node.name()) && one.node.client) one.node.client->go_on_with(session_.options().agent);
  }
}

void TrialRun::begin(TrialNode& one) {
  FleetNode& node = one.node;
  Trial& trial = one.trial;
  const auto& steps = trial.planned.steps;
  const auto count = steps.size();
  session_.show(node, "applying " + std::to_string(count) + (count == 1 ? " disruptive step" : " disruptive steps"));
  one.planned.outcomes.send(steps);
  // A new plan is made before the trial ends.
  trial.planned.after_steps = std::exchange(one.planned.plan.after_steps, {});
  trial.begun = Clock::now();
  trial.host_key = node.client->host_key();
  const auto silence = std::min(kLongestSilence, std::chrono::duration_cast<milliseconds>(options_.window * 0.4));
  auto reply = node.client->try_out({session_.run(),
                                     node.name(),
                                     options_.roster_for(node),
                                     steps,
                                     trial.planned.after_steps,
                                     options_.window.count(),
                                     {},
                                     options_.ignore_jobs,
                                     session_.accepted_uuid(node)},
                                    silence);
  if (!reply) return note_begin_failed(one, std::move(reply).error());
  trial.reply = std::move(*reply);
  const auto& results = trial.reply.results;
  const bool all_done = std::all_of(results.begin(), results.end(), is_done);
  trial.state = all_done ? Trial::State::kCarriedOut : Trial::State::kEnded;
  if (all_done) return;
  one.applied.receive(steps, trial.reply);
  const auto failed = std::find_if(results.begin(), results.end(), [](const StepResult& result) {
    return result.outcome == StepOutcome::kFailed || result.outcome == StepOutcome::kStale;
  });
  // A tool may reject the new texts before the first step; then nothing was undone.
  const bool begun = !trial.reply.not_restored.empty() ||
                     std::any_of(results.begin(), results.end(),
                                 [](const StepResult& result) { return result.outcome == StepOutcome::kUndone; });
  if (begun && failed != results.end()) note_rolled_back(one, failed->error->describe(), trial.reply.not_restored);
}

/// An agent that refuses still answers, and has no trial of this run. One that is cut off does not answer.
void TrialRun::note_begin_failed(TrialNode& one, Error error) {
  const bool cut_off = error.code == ErrorCode::kUnreachable;
  const auto left = cut_off ? failure(error) : one.node.client->call(TransactionRequest{}, patience());
  const bool has_trial = left && *left && (*left)->run == session_.run();
  if (has_trial && (*left)->state == TransactionState::kRollbackFailed)
    return note_rollback_failed(one, std::move(error).within("undo the change"));
  // A job was started since the node's facts were read. The waves of the other nodes go on.
  if (error.code == ErrorCode::kBusy && !has_trial) {
    one.planned.outcomes.settle_sent();
    one.trial = Trial();
    one.deferred = std::move(error);
    return;
  }
  const bool refused = left || (!cut_off && error.code != ErrorCode::kFailed);
  if (refused && !has_trial) {
    one.planned.outcomes.settle_sent();
    one.trial.state = Trial::State::kEnded;
    return session_.give_up(one.node, std::move(error));
  }
  // The connection is gone, perhaps for good. Only the node knows which steps it has done.
  one.trial.state = Trial::State::kCarriedOut;
}

Result<AgentClient> TrialRun::open_again(const TrialNode& one, Clock::time_point deadline) const {
  const FleetNode& node = one.node;
  const AgentOptions& usual = session_.options().agent;
  auto options = usual;
  options.connector = to_same_machine(usual.connector, one.trial.host_key);
  options.install = InstallPolicy::kNever;
  // A trial that has begun is decided, even if the user has asked to stop.
  options.connect.stop = {};
  auto pause = kFirstPause;
  Error last{ErrorCode::kUnreachable, "no time was left to connect", {}, std::nullopt, ""};
  while (left_until(deadline).count() > 0) {
    options.connect.timeout = std::min(usual.connect.timeout, std::max(milliseconds(500), left_until(deadline)));
    options.reply_timeout = options.connect.timeout;
    auto client = AgentClient::open(*node.spec, options, session_.second_request(node));
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

Result<AgentClient> TrialRun::open_when_carried_out(const TrialNode& one, Clock::time_point deadline) const {
  auto client = open_again(one, deadline);
  while (client && is_at_work(client->facts().transaction) && left_until(deadline).count() > 0) {
    std::this_thread::sleep_for(kFirstPause);
    if (!client->refresh_facts(session_.second_request(one.node))) client = open_again(one, deadline);
  }
  return client;
}

/// The agent of the earlier connection may not have noticed its end yet.
Result<void> TrialRun::lock_again(FleetNode& node, Clock::time_point deadline) const {
  auto locked = session_.lock(node);
  while (!locked && locked.error().code == ErrorCode::kBusy && left_until(deadline).count() > 0) {
    std::this_thread::sleep_for(kFirstPause);
    locked = session_.lock(node);
  }
  return locked;
}

/// The old connection may still work by chance. Only a new connection proves that the node can be reached.
void TrialRun::reconnect(TrialNode& one) {
  FleetNode& node = one.node;
  session_.show(node, "reconnecting");
  node.client.reset();
  const auto deadline = deadline_to_connect(one);
  auto client = open_when_carried_out(one, deadline);
  const auto reject = [&](std::string why) { one.trial.why_not = std::move(why); };
  if (!client) return reject("it could not be reached at " + node.spec->address + ": " + client.error().describe());
  if (auto learned = session_.learn(node, client->take_facts()); !learned) return reject(learned.error().describe());
  node.client.emplace(std::move(*client));
  const auto& transaction = node.known.transaction;
  if (!transaction || transaction->run != session_.run() || transaction->state != TransactionState::kArmed)
    return reject(transaction && !transaction->reason.empty() ? transaction->reason : "the node rolled it back");
  if (!transaction->carried_out) return reject("its steps did not finish");
  if (auto locked = lock_again(node, deadline); !locked) return reject(locked.error().describe());
  const auto end = std::min(Clock::now() + kPatienceToShow, deadline);
  reject(planning_.why_not_shown(one.planned, one.trial.planned, end));
  if (one.trial.why_not.empty()) one.trial.state = Trial::State::kShown;
}

}  // namespace sparkplan
