// ClusterRun: who belongs to the cluster, and how a member that has left the file is met.
#include <algorithm>
#include <utility>

#include "engine/core/finding.h"
#include "engine/core/text.h"
#include "engine/fleet/cluster_run.h"
#include "engine/fleet/departing_node.h"
#include "engine/fleet/node_reply.h"
#include "engine/plan/roster.h"
#include "engine/remote/agent_image.h"

namespace sparkplan {
namespace {

bool is_this_build(const Hello& hello) {
  const auto image = agent_image(hello.architecture);
  return image && image->build == hello.build;
}

Error cannot_check(const Error& error, const std::string& name) {
  const std::string put_back = "put " + name + " back into the file and run `sparkplan release " + name + "`";
  if (error.code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kNotFound,
                 "it has no agent, so its manifest cannot be checked; a departing node is given none before that",
                 {},
                 std::nullopt,
                 put_back};
  }
  if (error.code == ErrorCode::kPermissionDenied) {
    return Error{ErrorCode::kPermissionDenied,
                 error.message + "; a departing node is given no password before its manifest is checked",
                 {},
                 std::nullopt,
                 put_back};
  }
  return error;
}

/// What a departing node that only the roster names is shown as where it cannot be reached in an allowed way.
NodeSpec unreachable_spec(const RosterEntry& entry, NodeName name) {
  return NodeSpec{std::move(name), entry.id, entry.address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
}

}  // namespace

/// One node decides nothing about the others: the roster is what most of the manifests say.
void ClusterRun::find_roster() {
  std::map<std::string, const Manifest*> manifests;
  for (auto& node : nodes_) {
    if (!active(node) || node.departed || !node.known.manifest) continue;
    if (auto ours = check_membership(*node.known.manifest, cluster_); !ours) {
      give_up(node, std::move(ours).error());
      continue;
    }
    manifests.emplace(node.spec->name.str(), &*node.known.manifest);
  }
  auto agreed = agree_on_roster(manifests);
  single_witness_ = require_two_witnesses(agreed, manifests, cluster_, machines());
  const bool tie = !agreed.refused.empty() && agreed.roster.uuid.empty();
  for (auto& node : nodes_) {
    if (!active(node)) continue;
    const auto refused = agreed.refused.find(node.spec->name.str());
    if (refused != agreed.refused.end()) {
      give_up(node, refused->second);
    } else if (tie) {
      give_up(node, agreed.refused.begin()->second);
    }
  }
  warn_of(std::move(agreed.unsupported));
  roster_ = std::move(agreed.roster);
}

void ClusterRun::warn_of(std::vector<UnsupportedMember> unsupported) {
  std::erase_if(unsupported, [&](const UnsupportedMember& member) {
    return member.name == only_release_ ||
           std::any_of(cluster_.nodes.begin(), cluster_.nodes.end(),
                       [&](const NodeSpec& node) { return node.name.str() == member.name; });
  });
  constexpr auto kHint = "if it did belong to the cluster, put it back into the file and run `sparkplan release` on it";
  for (auto& warning : warnings_of(unsupported, kHint)) remarks_.push_back(std::move(warning));
}

/// The uuid alone is no proof: one node may have brought that of another cluster into all manifests.
bool ClusterRun::is_ours(const Manifest& manifest) const {
  return manifest.roster.uuid == roster_.uuid && check_membership(manifest, cluster_).has_value();
}

bool ClusterRun::consents_to_release(const std::string& name) const {
  return options_.contact_departing || only_release_ == name;
}

NodeRun& ClusterRun::add_leaving(NodeSpec spec) {
  NodeRun node;
  node.spec = &leaving_.emplace_back(std::move(spec));
  node.leaving = true;
  nodes_.push_back(std::move(node));
  return nodes_.back();
}

void ClusterRun::admit_departed_members() {
  for (const auto& entry : departed_members(roster_, cluster_, machines())) {
    const bool admitted = std::any_of(leaving_.begin(), leaving_.end(),
                                      [&](const NodeSpec& spec) { return spec.name.str() == entry.name; });
    auto name = NodeName::parse(entry.name);
    if (admitted || !name) continue;
    auto spec = spec_of_departing(entry, cluster_);
    auto& node = add_leaving(spec ? std::move(*spec) : unreachable_spec(entry, std::move(*name)));
    node.departed = entry;
    node.not_contacted = !consents_to_release(entry.name);
    // --only and --exclude release no node, and `release` releases no other.
    node.skipped = !options_.selection.everything() || (!only_release_.empty() && only_release_ != entry.name);
    if (!spec && active(node)) give_up(node, std::move(spec).error());
  }
  open();
  for (auto& node : nodes_) {
    if (!node.leaving || !active(node)) continue;
    const auto& manifest = node.known.manifest;
    // It belongs to another cluster by now: it has left for good.
    const bool of_others = manifest && !roster_.uuid.empty() && !is_ours(*manifest);
    const bool never_applied = !manifest && node.departed;
    if (never_applied) {
      auto remark = finding(Severity::kNote, "release.nothing-applied",
                            node.spec->name.str() + " has no manifest: there is nothing to give back");
      remark.node = node.spec->name.str();
      remarks_.push_back(std::move(remark));
    }
    node.released = of_others || never_applied;
    if (node.released) node.client.reset();
  }
}

/// Without an agent from us, without the password and with no key but those in known_hosts: what answers at the
/// address that the roster names may be any machine.
void ClusterRun::open_departing(NodeRun& node) {
  auto options = options_.agent;
  options.install = InstallPolicy::kNever;
  options.become_password = Secret();
  auto request = facts_request(node);
  request.observe_managed = plans_;
  auto client = AgentClient::open(*node.spec, options, request);
  if (!client) return give_up(node, cannot_check(client.error(), node.spec->name.str()));
  auto known = checked(client->facts(), request, registry_);
  if (!known) return give_up(node, std::move(known).error());
  node.known = std::move(*known);
  node.client.emplace(std::move(*client));
  // Without a manifest, or with that of another cluster, it is left alone.
  if (!node.known.manifest || !is_ours(*node.known.manifest)) return;
  if (auto proved = prove_identity(node); !proved) give_up(node, std::move(proved).error());
}

/// Checks the machine, and brings its agent up to date only then.
Result<void> ClusterRun::prove_identity(NodeRun& node) {
  SPARK_CHECK(check_departing_machine(*node.departed, node.client->host_key(), node.known));
  if (options_.agent.install != InstallPolicy::kExactBuild || is_this_build(node.client->hello())) return {};
  node.client.reset();
  open_node(node);
  if (node.error) return failure(*node.error);
  if (!node.known.manifest) return failure(ErrorCode::kFailed, "its manifest is gone since it was checked");
  return check_departing_machine(*node.departed, node.client->host_key(), node.known);
}

}  // namespace sparkplan
