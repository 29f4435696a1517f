#include "engine/verify/levels/levels.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/verify/levels/ssh_complaint.h"

namespace sparkplan {
namespace {

std::vector<std::string> users_of(const NodeSpec& node) {
  const auto section = node.sections.find("ssh_trust");
  if (section == node.sections.end() || node.transport != TransportKind::kSsh) return {};
  return texts_in(section->second.find("users"));
}

/// The fabric name if the node knows one, else the address in cluster.yaml.
std::string name_for(const NodeSpec& peer, const NodeSpec& who_asks) {
  const auto hosts = who_asks.sections.find("hosts");
  const bool has_fabric = std::ranges::any_of(peer.fabric, [](const FabricPort& one) { return !one.address.empty(); });
  if (hosts == who_asks.sections.end() || hosts->second.is_null() || !has_fabric) return peer.address;
  return peer.name.str() + hosts->second.text_or("suffix", "-fabric");
}

/// The logins of one node, in the order of the attempts. Each node starts with its successor, so that not all nodes
/// connect to the same node.
struct NodeLogins {
  VerifyNode* node = nullptr;
  std::vector<const VerifyNode*> peers;
  std::vector<Check> checks;
};

Check judged(const VerifyNode& from, const VerifyNode& to, const std::string& user, const std::string& name,
             const SshLoginReply::Login& login) {
  Check check = skipped(Level::kSsh, {from.name(), to.name()}, user, "");
  check.pass("login without a prompt");
  if (login.succeeded) return check;
  const SshComplaint complaint = read_complaint(login.complaint);
  check.text = "login failed";
  diagnose(check, CheckStatus::kFail, complaint.row, user + " to " + name + " (" + complaint.words + ")");
  return check;
}

void try_as(const std::string& user, NodeLogins& logins) {
  VerifyNode& node = *logins.node;
  SshLoginRequest request{user, {}};
  std::vector<const VerifyNode*> peers;
  for (const VerifyNode* peer : logins.peers) {
    const auto users = users_of(*peer->spec);
    if (std::find(users.begin(), users.end(), user) == users.end()) continue;
    if (!node.can_be_asked() || !peer->facts) {
      const auto why = node.can_be_asked() ? peer->name() + " is not connected" : node.why_not_asked().reason;
      logins.checks.push_back(skipped(Level::kSsh, {node.name(), peer->name()}, user, why));
      continue;
    }
    peers.push_back(peer);
    request.targets.push_back({name_for(*peer->spec, *node.spec), peer->spec->ssh.port});
  }
  if (peers.empty()) return;
  const auto reply = node.client->call(request);
  const bool lost = !reply && note_if_lost(node, reply.error());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (lost) {
      logins.checks.push_back(
          skipped(Level::kSsh, {node.name(), peers[i]->name()}, user, node.name() + " is no longer connected"));
      continue;
    }
    const auto login = reply ? reply->logins[i] : SshLoginReply::Login{false, reply.error().describe()};
    logins.checks.push_back(judged(node, *peers[i], user, request.targets[i].host, login));
  }
}

}  // namespace

std::vector<Check> verify_ssh(VerifyContext& context) {
  std::vector<NodeLogins> all;
  const std::size_t count = context.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    NodeLogins logins;
    logins.node = &context.nodes[i];
    for (std::size_t step = 1; step <= count; ++step) logins.peers.push_back(&context.nodes[(i + step) % count]);
    all.push_back(std::move(logins));
  }
  fan_out(
      all, context.options.workers,
      [&](NodeLogins& logins) {
        const auto users = users_of(*logins.node->spec);
        if (users.empty()) {
          const auto& name = logins.node->name();
          logins.checks.push_back(skipped(Level::kSsh, {name}, "", "ssh_trust not declared",
                                          "declare the users in cluster.yaml: ssh_trust: {users: [NAME]}"));
        }
        for (const std::string& user : users) {
          if (context.stop.stop_requested()) return;
          context.progress(logins.node->name(), "logging in to the other nodes as " + printable(user));
          try_as(user, logins);
        }
      },
      [](const NodeLogins&) {});
  std::vector<Check> checks;
  for (NodeLogins& logins : all) append(checks, std::move(logins.checks));
  return checks;
}

}  // namespace sparkplan
