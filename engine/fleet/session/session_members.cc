// FleetSession: the members of the cluster, and how members that have left the file are met.
#include <algorithm>
#include <utility>

#include "engine/fleet/session/departing_node.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/plan/other_member.h"
#include "engine/plan/same_machine.h"
#include "engine/remote/programs/agent_image.h"

namespace sparkplan {
namespace {

void add_hint(Error& error, std::string_view hint) {
  error.hint += (error.hint.empty() ? "" : "; ") + std::string(hint);
}

Error cannot_check(Error error, const NodeSpec& node, const SshConfig* config) {
  const std::string& name = node.name.str();
  const std::string put_back = "put " + name + " back into the file and run `sparkplan release " + name + "`";
  if (error.code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kNotFound,
                 "it has no agent, so its manifest cannot be checked; before that, sparkplan does not install one",
                 {},
                 std::nullopt,
                 put_back};
  }
  if (error.code == ErrorCode::kPermissionDenied) {
    return Error{ErrorCode::kPermissionDenied,
                 error.message + "; sparkplan sends it no password before its manifest is checked",
                 {},
                 std::nullopt,
                 put_back};
  }
  const bool unreachable = error.code == ErrorCode::kUnreachable;
  const bool wrong_machine = unreachable || error.code == ErrorCode::kUntrusted;
  if (wrong_machine && config != nullptr && is_alias(node, *config)) add_hint(error, kAliasHint);
  if (unreachable) add_hint(error, kForgetHint);
  return error;
}

/// For the report, if the roster names a departing node that the file gives no way to reach.
NodeSpec unreachable_spec(const RosterEntry& entry, NodeName name) {
  return NodeSpec{std::move(name), entry.id, entry.address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
}

}  // namespace

/// One node decides nothing about the others: the majority of the manifests does.
void FleetSession::find_roster() {
  for (auto& node : nodes_) {
    if (!node.active() || node.departed || !node.known.manifest) continue;
    if (auto ours = check_membership(*node.roster, cluster_); !ours) give_up(node, std::move(ours).error());
  }
  const Rosters rosters = this->rosters();
  auto agreed = agree_on_roster(rosters);
  single_witness_ = require_two_witnesses(agreed, rosters, cluster_, machines());
  const bool tie = !agreed.refused.empty() && agreed.roster.uuid.empty();
  for (auto& node : nodes_) {
    if (!node.active()) continue;
    const auto refused = agreed.refused.find(node.name());
    if (refused != agreed.refused.end()) {
      give_up(node, refused->second);
    } else if (tie) {
      give_up(node, agreed.refused.begin()->second);
    }
  }
  warn_of(std::move(agreed.unsupported));
  roster_ = std::move(agreed.roster);
  cluster_ids_ = std::move(agreed.uuids);
  const bool has_two_witnesses = agreed.manifests > 1 || unread_nodes().empty();
  uuid_is_agreed_ = has_two_witnesses && (agreed.manifests == 0 || cluster_ids_[roster_.uuid] * 2 > agreed.manifests);
  // Now, because an apply writes manifests: afterwards, nodes that have joined seem to be witnesses, too.
  roster_to_record_ = roster_;
  keep_marks_of_many(roster_to_record_, this->rosters(), cluster_, machines());
  if (purpose_.plans && !tie) warn_of_new_cluster();
  refuse_other_members();
}

std::vector<std::string> FleetSession::unread_nodes() const {
  std::vector<std::string> unread;
  for (const auto& node : nodes_) {
    if (!node.leaving && !node.active()) unread.push_back(node.name());
  }
  return unread;
}

/// A node that is not read now may belong to the cluster already. If it then lists other members, it is refused later.
void FleetSession::warn_of_new_cluster() {
  const std::vector<std::string> unread = unread_nodes();
  const bool any_read = std::ranges::any_of(nodes_, [](const auto& node) { return !node.leaving && node.active(); });
  if (!roster_.uuid.empty() || unread.empty() || !any_read) return;
  remark(
      finding(Severity::kWarning, "roster.new-cluster",
              "no node that was read has a manifest, so an apply begins a new cluster; not read: " + fold_names(unread),
              "if one of them is a member already, apply to it as well: its manifest names the cluster"));
}

/// Also before a release of a node of the file. Departing nodes prove their identity in open_departing().
void FleetSession::refuse_other_members() {
  std::vector<const NodeSpec*> file;
  Machines contacted;
  for (const auto& node : nodes_) {
    if (node.departed) continue;
    file.push_back(node.spec);
    if (node.active() && node.client) contacted[node.name()] = machine_of(node);
  }
  const auto mistaken = mistaken_for_members(roster_.members, file, contacted);
  for (auto& node : nodes_) {
    const auto error = mistaken.find(node.name());
    if (error != mistaken.end() && !node.departed) give_up(node, error->second);
  }
}

void FleetSession::warn_of(std::vector<UnsupportedMember> unsupported) {
  std::erase_if(unsupported, [&](const UnsupportedMember& member) {
    return member.name == purpose_.release ||
           std::ranges::any_of(cluster_.nodes, [&](const NodeSpec& node) { return node.name.str() == member.name; });
  });
  constexpr auto kHint = "if it belonged to the cluster, put it back into the file and run `sparkplan release` on it";
  for (auto& warning : warnings_of(unsupported, kHint)) remark(std::move(warning));
}

/// The uuid in its manifest is the agreed one, or one of cluster_ids(). The word of one other node is not enough. A
/// uuid alone proves nothing: one node can bring the uuid of another cluster into all manifests.
bool FleetSession::is_ours(const FleetNode& node) const {
  const Roster& roster = *node.roster;
  const auto found = cluster_ids_.find(roster.uuid);
  const bool of_many = found != cluster_ids_.end() && (found->second > 1 || !node.departed);
  return (of_many || roster.uuid == roster_.uuid) && check_membership(roster, cluster_).has_value();
}

std::string FleetSession::accepted_uuid(const FleetNode& node) const {
  return node.roster && cluster_ids_.contains(node.roster->uuid) ? node.roster->uuid : "";
}

bool FleetSession::consents_to_release(const std::string& name) const {
  return options_.contact_departing || purpose_.release == name;
}

FleetNode& FleetSession::add_leaving(NodeSpec spec) {
  FleetNode& node = nodes_.emplace_back(leaving_.emplace_back(std::move(spec)), nodes_.size());
  node.leaving = true;
  return node;
}

void FleetSession::find_members() {
  find_roster();
  admit_departed_members();
  exclude_same_machines();
}

std::vector<RosterEntry> FleetSession::leaving_members() {
  auto leaving = departed_members(roster_, cluster_, machines());
  const auto forgotten = std::ranges::find_if(
      single_witness_, [&](const RosterEntry& entry) { return purpose_.forget && entry.name == purpose_.release; });
  if (forgotten != single_witness_.end()) {
    leaving.push_back(std::move(*forgotten));
    single_witness_.erase(forgotten);
  }
  return leaving;
}

void FleetSession::admit_departed_members() {
  for (const auto& entry : leaving_members()) {
    const bool admitted = std::any_of(leaving_.begin(), leaving_.end(),
                                      [&](const NodeSpec& spec) { return spec.name.str() == entry.name; });
    auto name = NodeName::parse(entry.name);
    if (admitted || !name) continue;
    auto spec = spec_of_departing(entry, cluster_);
    auto& node = add_leaving(spec ? std::move(*spec) : unreachable_spec(entry, std::move(*name)));
    node.departed = entry;
    node.forgotten = purpose_.forget && entry.name == purpose_.release;
    node.not_contacted = !node.forgotten && !consents_to_release(entry.name);
    // --only and --exclude release no node, and `release` releases no other node.
    const auto& release = purpose_.release;
    node.skipped = !options_.selection.everything() || (!release.empty() && release != entry.name);
    if (!spec && node.active()) give_up(node, std::move(spec).error());
  }
  open();
  for (auto& node : nodes_) {
    if (node.leaving && node.active()) settle_departed_member(node);
  }
}

void FleetSession::settle_departed_member(FleetNode& node) {
  const auto& manifest = node.known.manifest;
  // It has joined another cluster: nothing on it is ours any more.
  const bool of_others = manifest && !roster_.uuid.empty() && !is_ours(node);
  if (of_others) {
    remark(node, Severity::kWarning, "release.other-cluster",
           node.name() + " belongs to another cluster now: it is dropped from this one, and not changed");
  }
  const bool never_applied = !manifest && node.departed;
  if (never_applied) {
    remark(node, Severity::kNote, "release.nothing-applied",
           node.name() + " has no manifest: there is nothing to restore");
  }
  node.released = of_others || never_applied;
  if (node.released) node.client.reset();
}

/// Installs no agent, sends no password and accepts only host keys in known_hosts: any machine may answer at the
/// address in the roster.
void FleetSession::open_departing(FleetNode& node) {
  auto options = options_.agent;
  options.install = InstallPolicy::kNever;
  options.become_password = Secret();
  if (auto connected = connect(node, std::move(options)); !connected)
    return give_up(node, cannot_check(std::move(connected).error(), *node.spec, options_.agent.connect.config.get()));
  // A node without a manifest, or with another cluster's manifest, is left alone.
  if (!node.known.manifest || !is_ours(node)) return;
  if (auto proved = prove_identity(node); !proved) give_up(node, std::move(proved).error());
}

/// Checks the machine. Only then it updates the agent, which may need the password: on the same machine.
Result<void> FleetSession::prove_identity(FleetNode& node) {
  SPARK_CHECK(check_departing_machine(*node.departed, node.client->host_key(), node.known));
  const Hello& hello = node.client->hello();
  if (options_.agent.install != InstallPolicy::kExactBuild || is_this_build(hello.architecture, hello.build)) return {};
  auto options = options_.agent;
  options.connector = to_same_machine(options.connector, node.client->host_key());
  node.client.reset();
  SPARK_CHECK(connect(node, std::move(options)));
  show(node, "facts read", Activity::kWaiting);
  if (!node.known.manifest) return failure(ErrorCode::kFailed, "its manifest disappeared after it was checked");
  return check_departing_machine(*node.departed, node.client->host_key(), node.known);
}

/// A change on one of them would also be made on the other, or be mistaken for it.
void FleetSession::exclude_same_machines() {
  std::map<std::string, MachineIdentity> identities;
  for (const auto& node : nodes_) {
    if (node.leaving || !node.active() || !node.client) continue;
    MachineIdentity identity{node.known.facts.machine_id, node.client->host_key(), node.known.facts.host.nvme_host_nqn,
                             ""};
    const auto recorded = std::find_if(roster_.members.begin(), roster_.members.end(),
                                       [&](const RosterEntry& entry) { return entry.name == node.name(); });
    // The record is valid only for the machine with that host key.
    if (recorded != roster_.members.end() && recorded->host_key == identity.host_key) {
      identity.recorded_machine_id = recorded->machine_id;
    }
    identities[node.name()] = std::move(identity);
  }
  SameMachines same = same_machines(cluster_, identities);
  for (auto& node : nodes_) {
    const auto error = same.by_node.find(node.name());
    if (!node.leaving && error != same.by_node.end()) give_up(node, error->second);
  }
  for (Diagnostic& finding : same.findings) remark(std::move(finding));
}

}  // namespace sparkplan
