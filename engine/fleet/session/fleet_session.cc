#include "engine/fleet/session/fleet_session.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/fleet/session/last_line.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/fleet/session/node_report.h"
#include "engine/fleet/session/run_identity.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// A machine-id that changes during a run was false before or is false now, so it must not reach a roster.
Result<void> check_machine_id(const FactsReply& before, const FactsReply& now) {
  const std::string& first = before.facts.machine_id;
  const std::string& second = now.facts.machine_id;
  if (first == second) return {};
  return failure(
      ErrorCode::kRefused,
      "its machine-id changed during the run, from \"" + printable(first) + "\" to \"" + printable(second) + "\"",
      "find out what runs on that node before anything else");
}

}  // namespace

void FleetNode::drop_managed() {
  known.observed = {};
  if (!known.manifest) return;
  known.manifest->resources = {};
  known.manifest->artifacts = {};
}

FleetSession::FleetSession(const Cluster& cluster, const Registry& registry, RunOptions options, SessionPurpose purpose)
    : cluster_(cluster),
      registry_(registry),
      options_(std::move(options)),
      purpose_(std::move(purpose)),
      started_(Clock::now()),
      asked_before_(time_asking()),
      holder_(this_controller(options_.command)) {
  if (auto run = new_run_id()) {
    run_ = *std::move(run);
  } else {
    no_run_id_ = std::move(run).error();
  }
  std::set<std::string> sections;
  for (const auto& spec : cluster.nodes) {
    FleetNode& node = nodes_.emplace_back(spec, nodes_.size());
    node.skipped = spec.maintenance || !options_.selection.includes_node(spec.name.str());
    for (const auto& [section, body] : spec.sections) sections.insert(section);
  }
  for (const std::string& section : sections) {
    for (const auto* type : registry.of_section(section)) {
      if (type->info().exports_everywhere) exported_everywhere_.insert(type->info().name);
    }
  }
}

Clock::duration FleetSession::time_asking() const {
  return options_.time_asking ? options_.time_asking() : Clock::duration::zero();
}

void FleetSession::work_on(FleetNode& node, const std::function<void(FleetNode&)>& work) const {
  last_line([&] { work(node); }, [&](Error error) { give_up(node, std::move(error)); });
}

void FleetSession::keep_alive(FleetNode& node) const {
  if (!node.active() || !node.client) return;
  work_on(node, [&](FleetNode& silent) {
    if (auto answered = silent.client->call(PingRequest{}); !answered) give_up(silent, std::move(answered).error());
  });
}

void FleetSession::on_each_node(const std::function<void(FleetNode&)>& work) {
  on_each_node(
      options_.workers, work, [this](FleetNode& node) { keep_alive(node); }, options_.heartbeat);
}

void FleetSession::on_each_node(std::size_t workers, const std::function<void(FleetNode&)>& work,
                                const std::function<void(FleetNode&)>& keep, std::chrono::milliseconds heartbeat) {
  const auto active_only = [&](FleetNode& node) {
    if (node.active()) work_on(node, work);
  };
  const auto keep_active = [&](FleetNode& node) {
    if (node.active() && node.client) work_on(node, keep);
  };
  fan_out(nodes_, workers, active_only, keep_active, heartbeat);
}

void FleetSession::compute_each_node(const std::function<void(FleetNode&)>& work) {
  on_each_node(
      std::max(std::thread::hardware_concurrency(), 1U), work, [this](FleetNode& node) { keep_alive(node); },
      options_.heartbeat);
}

void FleetSession::show(const FleetNode& node, std::string_view doing, Activity activity) const {
  if (options_.progress) options_.progress(node.name(), doing, activity);
}

void FleetSession::give_up(FleetNode& node, Error error) const {
  show(node, error.describe(), Activity::kFailed);
  node.error = std::move(error);
  node.client.reset();
}

void FleetSession::remark(const FleetNode& node, Severity severity, std::string code, std::string message,
                          std::string hint) {
  remarks_.push_back(finding(severity, std::move(code), std::move(message), std::move(hint)));
  remarks_.back().node = node.name();
}

bool FleetSession::any_error() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const FleetNode& node) { return node.error.has_value(); });
}

FactsRequest FleetSession::facts_request(const FleetNode& node) const {
  FactsRequest request;
  request.everything = options_.extended;
  request.set_damaged_aside = purpose_.writes;
  request.observe_managed = purpose_.plans;
  for (const auto& [section, body] : node.spec->sections) {
    for (const auto* type : registry_.of_section(section)) request.exports.emplace(type->info().name, body);
  }
  for (const std::string& type : exported_everywhere_) request.exports.emplace(type, Value());
  request.known_rosters = rosters_to_offer(node);
  return request;
}

FactsRequest FleetSession::second_request(const FleetNode& node) const {
  FactsRequest request = facts_request(node);
  request.observe_managed = false;
  std::erase_if(request.exports, [&](const auto& one) { return !exported_everywhere_.contains(one.first); });
  return request;
}

std::vector<std::string> FleetSession::rosters_to_offer(const FleetNode& node) const {
  if (node.leaving || node.departed || node.knows_no_offers) return {};
  if (!node.roster) return shared_rosters_.offers();
  // Then only its own: other nodes' answers do not change it, so an answer can still be compared with its request.
  if (node.roster_digest.empty()) return {};
  return {node.roster_digest};
}

Result<void> FleetSession::take(FleetNode& node, FactsReply known) {
  const std::string& named = known.known_roster;
  if (named.empty()) {
    Roster roster;
    if (known.manifest) std::swap(roster, known.manifest->roster);
    auto shared = shared_rosters_.share(std::move(roster));
    node.roster = std::move(shared.roster);
    node.roster_digest = std::move(shared.digest);
  } else if (named != node.roster_digest || !node.roster) {
    node.roster = shared_rosters_.find(named);
    node.roster_digest = named;
    if (!node.roster) return failure(ErrorCode::kBug, "a roster that was offered is no longer kept");
  }
  node.known = std::move(known);
  return {};
}

Result<void> FleetSession::learn(FleetNode& node, FactsReply reply) {
  SPARK_TRY(auto known, checked(std::move(reply), second_request(node), registry_));
  SPARK_CHECK(check_machine_id(node.known, known));
  const auto is_left_out = [&](const std::string& type) { return !exported_everywhere_.contains(type); };
  for (auto& [type, value] : node.known.exports) {
    if (is_left_out(type)) known.exports.try_emplace(type, std::move(value));
  }
  for (auto& [type, error] : node.known.export_errors) {
    if (is_left_out(type)) known.export_errors.try_emplace(type, std::move(error));
  }
  return take(node, std::move(known));
}

void FleetSession::refresh() {
  on_each_node([&](FleetNode& node) {
    const auto request = facts_request(node);
    node.drop_managed();
    auto known = node.client->call(request);
    if (known) known = checked(std::move(*known), request, registry_);
    if (!known) return give_up(node, std::move(known).error());
    if (auto same = check_machine_id(node.known, *known); !same) return give_up(node, std::move(same).error());
    if (auto taken = take(node, std::move(*known)); !taken) give_up(node, std::move(taken).error());
  });
}

/// Asks without installing an agent, because a release or a rollback makes no machine a member. If the answer is
/// unclear, the connection that follows decides.
bool FleetSession::is_member(const FleetNode& node) const {
  auto options = options_.agent;
  options.install = InstallPolicy::kNever;
  const auto client = AgentClient::open(*node.spec, options, {});
  if (!client) return client.error().code != ErrorCode::kNotFound;
  return client->facts().manifest.has_value();
}

Result<void> FleetSession::connect(FleetNode& node, AgentOptions options) {
  // No reference to the node: departing nodes join the list later, and the client outlives this call.
  options.progress = [this, name = node.name()](std::string_view doing) {
    if (options_.progress) options_.progress(name, "applying " + std::string(doing), Activity::kWorking);
  };
  auto request = facts_request(node);
  request.patience_ms = options_.agent_patience.count();
  SPARK_TRY(auto client, AgentClient::open(*node.spec, options, request));
  SPARK_TRY(auto known, checked(client.take_facts(), request, registry_));
  // Only for itself: what one node claims about its version costs the others nothing.
  node.knows_no_offers = client.hello().protocol_minor < kMinorOfKnownRosters;
  SPARK_CHECK(take(node, std::move(known)));
  node.client.emplace(std::move(client));
  return {};
}

void FleetSession::open_node(FleetNode& node) {
  if (auto connected = connect(node, options_.agent); !connected) return give_up(node, std::move(connected).error());
  show(node, "facts read", Activity::kWaiting);
}

void FleetSession::open() {
  on_each_node([&](FleetNode& node) {
    if (node.client) return;
    if (no_run_id_) return give_up(node, *no_run_id_);
    show(node, "connecting");
    if (node.departed) return open_departing(node);
    if (purpose_.members_only && !node.leaving && !is_member(node)) {
      node.skipped = true;
      return;
    }
    open_node(node);
  });
}

Machine machine_of(const FleetNode& node) {
  return {node.client->host_key(), node.known.facts.machine_id, node.known.manifest ? node.known.manifest->node : ""};
}

Machines FleetSession::machines() const {
  Machines machines;
  for (const auto& node : nodes_) {
    if (node.leaving || node.error || !node.client) continue;
    machines[node.name()] = machine_of(node);
  }
  return machines;
}

Rosters FleetSession::rosters() const {
  Rosters rosters;
  for (const auto& node : nodes_) {
    if (node.active() && !node.departed && node.known.manifest) rosters.emplace(node.name(), node.roster.get());
  }
  return rosters;
}

std::map<std::string, NodeExports> FleetSession::exports() const {
  std::map<std::string, NodeExports> all;
  for (const auto& node : nodes_) {
    auto& exports = all[node.name()];
    if (!node.error && !node.skipped) {
      exports = node.known.exports;
      continue;
    }
    // It may have been refused for what it reports. So the other nodes take nothing new from it.
    for (const auto& type : exported_everywhere_) {
      const auto found = node.known.exports.find(type);
      if (found == node.known.exports.end() || !found->second.is_map()) continue;
      exports.emplace(type, found->second).first->second.set(kOutdatedExport, true);
    }
  }
  return all;
}

bool FleetSession::lock_all(std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(100);
  std::set<std::string> shown;
  while (true) {
    std::vector<std::optional<Error>> misses(nodes_.size());
    on_each_node([&](FleetNode& node) {
      auto locked = lock(node);
      if (locked) return;
      // A departing node that is always locked must not stop the run on the other nodes.
      if (locked.error().code != ErrorCode::kBusy || node.leaving) return give_up(node, std::move(locked).error());
      misses[node.place] = std::move(locked).error();
    });
    if (std::none_of(misses.begin(), misses.end(), [](const auto& miss) { return miss.has_value(); })) return true;
    // Two controllers that each wait with half of the locks would wait forever.
    unlock_all();
    if (Clock::now() + pause >= end || stop_requested()) {
      for (FleetNode& node : nodes_) {
        auto& miss = misses[node.place];
        if (!miss) continue;
        const std::string way = way_without(options_.exclusion, {node.name()});
        if (!way.empty()) miss->hint += (miss->hint.empty() ? "" : "; ") + way;
        node.error = std::move(miss);
      }
      return false;
    }
    for (const FleetNode& node : nodes_) {
      const auto& miss = misses[node.place];
      if (miss && shown.insert(node.name()).second) show(node, miss->describe());
    }
    pause_unless_stopped(pause, options_.stop);  // The next round reacts to a stop.
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
  }
}

void FleetSession::unlock_all() {
  on_each_node([&](FleetNode& node) {
    if (auto unlocked = node.client->unlock(); !unlocked) give_up(node, std::move(unlocked).error());
  });
}

Report FleetSession::report() const {
  return report([&](const FleetNode& node) { return report_on(node, {}, roster_); }, {});
}

Report FleetSession::report(const std::function<NodeReport(const FleetNode&)>& describe,
                            const std::vector<Diagnostic>& findings) const {
  Report report;
  report.command = options_.command;
  report.cluster = cluster_.name;
  report.file = cluster_.file;
  report.config_digest = cluster_.config_digest;
  report.run = run_;
  report.cluster_id = roster_.uuid;
  for (const auto& node : nodes_) {
    last_line([&] { report.nodes.push_back(describe(node)); },
              [&](Error error) { report.nodes.push_back(report_on_error(node, std::move(error))); });
  }
  // The controller's findings come first. Nodes word some of the others.
  report.diagnostics = remarks_;
  for (const auto& node : nodes_) {
    if (auto warning = transaction_warning(node, run_)) report.diagnostics.push_back(std::move(*warning));
  }
  report.diagnostics.insert(report.diagnostics.end(), findings.begin(), findings.end());
  const Clock::duration asked = time_asking() - asked_before_;
  report.duration = std::max(Clock::now() - started_ - asked, Clock::duration::zero());
  report.partial = !options_.selection.everything();
  report.interrupted = stop_requested();
  return report;
}

bool pause_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, duration, [&] { return stop.stop_requested(); });
  return !stop.stop_requested();
}

}  // namespace sparkplan
