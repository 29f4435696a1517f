#include "engine/fleet/cluster_run.h"

#include <algorithm>
#include <semaphore>
#include <utility>

#include "engine/fleet/fan_out.h"
#include "engine/fleet/last_line.h"
#include "engine/fleet/node_reply.h"
#include "engine/fleet/run_identity.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/planner.h"
#include "engine/plan/reach.h"
#include "engine/plan/roster.h"
#include "engine/plan/same_machine.h"

namespace sparkplan {
namespace {

NodeStatus status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnreachable:
      return NodeStatus::kUnreachable;
    case ErrorCode::kRefused:
      return NodeStatus::kRefused;
    default:
      return NodeStatus::kFailed;
  }
}

}  // namespace

ClusterRun::ClusterRun(const Cluster& cluster, const Registry& registry, RunOptions options)
    : cluster_(cluster),
      registry_(registry),
      options_(std::move(options)),
      run_(new_run_id()),
      uuid_(new_uuid()),
      started_(std::chrono::steady_clock::now()) {
  std::set<std::string> sections;
  for (const auto& spec : cluster.nodes) {
    NodeRun node;
    node.spec = &spec;
    node.skipped = spec.maintenance || !options_.selection.includes_node(spec.name.str());
    nodes_.push_back(std::move(node));
    for (const auto& [section, body] : spec.sections) sections.insert(section);
  }
  for (const std::string& section : sections) {
    for (const auto* type : registry.of_section(section)) {
      if (type->info().exports_everywhere) exported_everywhere_.insert(type->info().name);
    }
  }
}

void ClusterRun::work_on(NodeRun& node, const std::function<void(NodeRun&)>& work) const {
  last_line([&] { work(node); }, [&](Error error) { give_up(node, std::move(error)); });
}

void ClusterRun::on_each(const std::function<void(NodeRun&)>& work) {
  const auto active_only = [&](NodeRun& node) {
    if (active(node)) work_on(node, work);
  };
  const auto keep_alive = [&](NodeRun& node) {
    if (!active(node) || !node.client) return;
    work_on(node, [&](NodeRun& silent) {
      if (auto answered = silent.client->call(PingRequest{}); !answered) give_up(silent, std::move(answered).error());
    });
  };
  if (!locked_) return fan_out(nodes_, options_.workers, active_only, keep_alive);
  // A locked node's agent must not think us gone while its turn has not come, so each node has a
  // thread of its own that keeps it company, and the limit is on the turns.
  std::counting_semaphore<> turns(static_cast<std::ptrdiff_t>(options_.workers));
  const auto in_turn = [&](NodeRun& node) {
    if (!active(node)) return;
    while (!turns.try_acquire_for(kHeartbeat)) keep_alive(node);
    active_only(node);
    turns.release();
  };
  fan_out(nodes_, nodes_.size(), in_turn, keep_alive);
}

void ClusterRun::tell(const NodeRun& node, std::string_view doing, Activity activity) const {
  if (options_.progress) options_.progress(node.spec->name.str(), doing, activity);
}

/// As on_each(), for what asks no node: as many at a time as there are processors.
void ClusterRun::work_out_each(const std::function<void(NodeRun&)>& work) {
  const auto active_only = [&](NodeRun& node) {
    if (active(node)) work_on(node, work);
  };
  fan_out(nodes_, std::thread::hardware_concurrency(), active_only, [](NodeRun&) {});
}

void ClusterRun::give_up(NodeRun& node, Error error) const {
  tell(node, error.describe(), Activity::kFailed);
  node.error = std::move(error);
  // Closing the connection ends the agent, and with it any lock it holds.
  node.client.reset();
}

FactsRequest ClusterRun::facts_request(const NodeRun& node) const {
  FactsRequest request;
  request.everything = options_.extended;
  request.set_damaged_aside = writes_;
  for (const auto& [section, body] : node.spec->sections) {
    for (const auto* type : registry_.of_section(section)) request.exports.emplace(type->info().name, body);
  }
  for (const std::string& type : exported_everywhere_) request.exports.emplace(type, Value());
  return request;
}

FactsRequest ClusterRun::second_request(const NodeRun& node) const {
  FactsRequest request = facts_request(node);
  std::erase_if(request.exports, [&](const auto& one) { return !exported_everywhere_.contains(one.first); });
  return request;
}

Result<void> ClusterRun::learn_again(NodeRun& node, FactsReply reply) const {
  SPARK_TRY(auto known, checked(std::move(reply), second_request(node), registry_));
  const auto is_left_out = [&](const std::string& type) { return !exported_everywhere_.contains(type); };
  for (auto& [type, value] : node.known.exports) {
    if (is_left_out(type)) known.exports.try_emplace(type, std::move(value));
  }
  for (auto& [type, error] : node.known.export_errors) {
    if (is_left_out(type)) known.export_errors.try_emplace(type, std::move(error));
  }
  node.known = std::move(known);
  return {};
}

/// A release is no reason to make a machine a member, nor to push an agent to one that is none. What
/// cannot be told is told by the connection that follows.
bool ClusterRun::is_member(const NodeRun& node) const {
  auto options = options_.agent;
  options.install = InstallPolicy::kNever;
  const auto client = AgentClient::open(*node.spec, options, {});
  if (!client) return client.error().code != ErrorCode::kNotFound;
  return client->facts().manifest.has_value();
}

void ClusterRun::open_node(NodeRun& node) {
  auto options = options_.agent;
  // Not the node of this run: departing nodes are added later, and all of them may move.
  options.progress = [this, name = node.spec->name.str()](std::string_view doing) {
    if (options_.progress) options_.progress(name, "applying " + std::string(doing), Activity::kWorking);
  };
  auto request = facts_request(node);
  request.observe_managed = plans_ && !rolls_back_;
  auto client = AgentClient::open(*node.spec, options, request);
  if (!client) return give_up(node, std::move(client).error());
  auto known = checked(client->facts(), request, registry_);
  if (!known) return give_up(node, std::move(known).error());
  node.known = std::move(*known);
  node.client.emplace(std::move(*client));
  tell(node, "facts read", Activity::kWaiting);
}

void ClusterRun::open() {
  on_each([&](NodeRun& node) {
    if (node.client) return;
    tell(node, "connecting");
    if (node.departed) return open_departing(node);
    if ((!only_release_.empty() || rolls_back_) && !node.leaving && !is_member(node)) {
      node.skipped = true;
      return;
    }
    open_node(node);
  });
}

Machines ClusterRun::machines() const {
  Machines machines;
  for (const auto& node : nodes_) {
    if (node.leaving || node.error || !node.client) continue;
    machines[node.spec->name.str()] = {node.client->host_key(), node.known.facts.machine_id,
                                       node.known.manifest ? node.known.manifest->node : ""};
  }
  return machines;
}

/// What is done to one of them would be done to the other, or be taken for it.
void ClusterRun::take_out_same_machines() {
  std::map<std::string, MachineIdentity> identities;
  for (const auto& node : nodes_) {
    if (node.leaving || !active(node) || !node.client) continue;
    MachineIdentity identity{node.known.facts.machine_id, node.client->host_key(), node.known.facts.host.nvme_host_nqn,
                             ""};
    const auto recorded = std::find_if(roster_.members.begin(), roster_.members.end(),
                                       [&](const RosterEntry& entry) { return entry.name == node.spec->name.str(); });
    // The record is about the machine with that host key.
    if (recorded != roster_.members.end() && recorded->host_key == identity.host_key) {
      identity.recorded_machine_id = recorded->machine_id;
    }
    identities[node.spec->name.str()] = std::move(identity);
  }
  SameMachines same = same_machines(cluster_, identities);
  for (auto& node : nodes_) {
    const auto error = same.by_node.find(node.spec->name.str());
    if (!node.leaving && error != same.by_node.end()) give_up(node, error->second);
  }
  std::move(same.findings.begin(), same.findings.end(), std::back_inserter(remarks_));
}

void ClusterRun::compile() {
  told_ = told();
  diagnostics_.clear();
  for (const auto& node : nodes_) {
    for (const auto& [type, error] : node.known.export_errors) {
      Diagnostic warning;
      warning.severity = Severity::kWarning;
      warning.code = "export.unreadable";
      warning.message = node.spec->name.str() + " cannot say what " + type + " needs of it: " + error.describe();
      warning.hint = error.hint;
      warning.node = node.spec->name.str();
      diagnostics_.push_back(std::move(warning));
    }
  }
  std::vector<std::vector<Diagnostic>> findings(nodes_.size());
  std::vector<std::vector<Diagnostic>> about_several(nodes_.size());
  work_out_each([&](NodeRun& node) {
    if (node.leaving) return;
    auto desired =
        desired_state(ClusterView{cluster_, *node.spec, told_, allow_management_change_}, node.known.facts, registry_);
    node.desired = std::move(desired.resources);
    node.incomplete_types = std::move(desired.incomplete_types);
    const auto place = static_cast<std::size_t>(&node - nodes_.data());
    findings[place] = std::move(desired.diagnostics);
    about_several[place] = std::move(desired.about_several);
    if (desired.refused) give_up(node, *desired.refused);
  });
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::move(about_several[i].begin(), about_several[i].end(), std::back_inserter(diagnostics_));
    for (auto& finding : findings[i]) {
      if (finding.node.empty()) finding.node = nodes_[i].spec->name.str();
      if (finding.file.empty()) finding.file = cluster_.file;
      diagnostics_.push_back(std::move(finding));
    }
  }
}

void ClusterRun::observe() {
  on_each([&](NodeRun& node) {
    const auto* manifest = node.known.manifest ? &*node.known.manifest : nullptr;
    auto names = names_to_observe(node.desired, manifest);
    // What came with the facts serves once: whoever asks again wants to see it anew.
    node.observed = std::exchange(node.known.observed, {});
    if (manifest != nullptr) {
      const auto seen = names_managed(*manifest);
      std::erase_if(names, [&](const auto& wanted) {
        const auto managed = seen.find(wanted.first);
        return node.observed.types.contains(wanted.first) && managed != seen.end() && managed->second == wanted.second;
      });
    }
    if (!names.empty()) {
      tell(node, "observing");
      auto observed = observe_node(*node.client, {std::move(names)}, registry_);
      if (!observed) return give_up(node, std::move(observed).error());
      for (auto& [type, found] : observed->types) node.observed.types.insert_or_assign(type, std::move(found));
    }
    tell(node, "observed", Activity::kWaiting);
  });
}

void ClusterRun::make_plan(NodeRun& node) const {
  NodePlanInput input;
  input.desired = node.desired;
  input.observed = &node.observed;
  input.manifest = node.known.manifest ? &*node.known.manifest : nullptr;
  input.incomplete_types = node.incomplete_types;
  input.failed = node.failures;
  if (!options_.selection.everything()) {
    input.selected = [&](const ResourceId& id) { return options_.selection.includes(node.spec->name.str(), id); };
  }
  node.plan = plan_node(input, registry_);
}

void ClusterRun::make_plans() {
  if (rolls_back_) return make_plans_of_undoing();
  work_out_each([&](NodeRun& node) { make_plan(node); });
}

void ClusterRun::refuse_what_is_unsafe() {
  if (allow_management_change_) return;
  for (auto& node : nodes_) {
    if (!active(node)) continue;
    work_on(node, [&](NodeRun& planned) {
      if (auto refused = refusal(planned.plan, planned.known.facts, registry_)) give_up(planned, std::move(*refused));
    });
  }
}

Report ClusterRun::plan() {
  plans_ = true;
  open();
  find_roster();
  admit_departed_members();
  take_out_same_machines();
  const auto fallen_out = [&] {
    return std::count_if(nodes_.begin(), nodes_.end(), [](const NodeRun& node) { return node.error.has_value(); });
  };
  auto out = fallen_out();
  compile();
  observe();
  make_plans();
  refuse_what_is_unsafe();
  // From what somebody who has fallen out meanwhile has not, nothing follows any more where only one may have it. What
  // that means for the others stands in the plan, not in the way of its apply.
  while (!exported_everywhere_.empty() && fallen_out() != out) {
    out = fallen_out();
    compile();
    make_plans();
    refuse_what_is_unsafe();
  }
  return report();
}

NodeReport ClusterRun::report_on_error(const NodeRun& node, Error error) {
  NodeReport report;
  report.name = node.spec->name.str();
  report.address = shown_address(*node.spec);
  report.status = NodeStatus::kFailed;
  report.error = std::move(error);
  return report;
}

NodeReport ClusterRun::report_on(const NodeRun& node) const {
  NodeReport report;
  report.name = node.spec->name.str();
  report.address = shown_address(*node.spec);
  const bool in_roster = std::any_of(roster_.members.begin(), roster_.members.end(),
                                     [&](const RosterEntry& entry) { return entry.name == report.name; });
  report.membership = node.known.manifest || in_roster ? Membership::kMember : Membership::kJoining;
  if (node.leaving) report.membership = Membership::kLeaving;
  report.not_contacted = node.not_contacted;
  report.plan = node.error ? NodePlan{} : node.plan;
  if (node.known.lock_holder) report.lock_holder = node.known.lock_holder->describe();
  if (node.released) {
    report.status = NodeStatus::kReleased;
  } else if (node.skipped) {
    report.status = NodeStatus::kSkipped;
  } else if (node.rolled_back) {
    report.status = NodeStatus::kRolledBack;
    report.error = node.error;
  } else if (node.error) {
    report.status = status_of(*node.error);
    report.error = node.error;
  } else {
    report.status = sparkplan::status_of(node.plan);
    // What was never applied cannot have drifted.
    const bool joining = report.membership == Membership::kJoining;
    if (joining && report.status == NodeStatus::kDrifted) report.status = NodeStatus::kPending;
    // Also when nothing but the manifest is left to go.
    if (node.leaving) report.status = NodeStatus::kPending;
  }
  return report;
}

/// What another run has tried on a node, and how it ended, as long as no later run has taken note of it.
std::optional<Diagnostic> ClusterRun::told_by(const NodeRun& node) const {
  const auto& transaction = node.known.transaction;
  if (!transaction || transaction->run == run_) return std::nullopt;
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  warning.node = node.spec->name.str();
  if (transaction->state == TransactionState::kRolledBack) {
    warning.code = "trial.rolled-back";
    warning.message = "a change of " + transaction->who + " was rolled back: " + transaction->reason;
  } else if (transaction->state == TransactionState::kRollbackFailed) {
    warning.code = "trial.rollback-failed";
    warning.message = "a change of " + transaction->who + " could not be undone: " + transaction->reason;
    for (const auto& command : transaction->manual_commands) {
      warning.hint += (warning.hint.empty() ? "on the node, as root: " : " && ") + command;
    }
  } else if (transaction->state == TransactionState::kArmed) {
    warning.code = "trial.under-way";
    warning.message = "a change of " + transaction->who + " is on trial; it is undone in " +
                      std::to_string(transaction->seconds_left) + " s unless confirmed";
  } else {
    return std::nullopt;
  }
  return warning;
}

Report ClusterRun::report() const {
  Report report;
  report.command = options_.command;
  report.cluster = cluster_.name;
  report.file = cluster_.file;
  report.config_digest = cluster_.config_digest;
  for (const auto& node : nodes_) {
    last_line([&] { report.nodes.push_back(report_on(node)); },
              [&](Error error) { report.nodes.push_back(report_on_error(node, std::move(error))); });
  }
  report.diagnostics = diagnostics_;
  for (const auto& node : nodes_) {
    if (auto told = told_by(node)) report.diagnostics.push_back(std::move(*told));
  }
  report.diagnostics.insert(report.diagnostics.end(), remarks_.begin(), remarks_.end());
  report.duration = std::chrono::steady_clock::now() - started_;
  report.partial = !options_.selection.everything();
  report.interrupted = options_.stop.stop_requested();
  return report;
}

}  // namespace sparkplan
