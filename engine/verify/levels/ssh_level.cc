#include "engine/verify/levels/levels.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/verify/levels/ssh_complaint.h"
#include "engine/verify/pair_waits.h"
#include "engine/verify/pairs.h"

namespace sparkplan {
namespace {

/// After that, the agent ends a login.
constexpr std::chrono::seconds kLongestLogin{20};
constexpr std::chrono::seconds kUsualLogin{3};

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

/// A login from a node to a peer.
struct SshLogin {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string user;
  Check check;
};

/// By node, then user. Each node starts with its successor.
std::vector<SshLogin> logins_of(const VerifyContext& context) {
  std::vector<SshLogin> logins;
  const std::size_t count = context.nodes.size();
  for (std::size_t from = 0; from < count; ++from) {
    for (const std::string& user : users_of(*context.nodes[from].spec)) {
      for (std::size_t step = 1; step <= count; ++step) {
        const std::size_t to = (from + step) % count;
        const auto users = users_of(*context.nodes[to].spec);
        if (std::find(users.begin(), users.end(), user) == users.end()) continue;
        const std::vector<std::string> names{context.nodes[from].name(), context.nodes[to].name()};
        logins.push_back({from, to, user, skipped(Level::kSsh, names, user, "not measured")});
      }
    }
  }
  return logins;
}

void judge_login(const SshLoginRequest& request, const SshLoginReply::Login& login, Check& check) {
  check.pass("login without a prompt");
  if (login.succeeded) return;
  const SshComplaint complaint = read_complaint(login.complaint);
  check.text = "login failed";
  diagnose(check, CheckStatus::kFail, complaint.row,
           request.user + " to " + request.targets.front().host + " (" + complaint.words + ")");
}

/// A peer that is no longer connected may still accept logins.
Blocker why_no_login(const VerifyNode& from, const VerifyNode& to) {
  if (!from.can_be_paired()) return from.why_not_paired();
  if (to.is_too_late() || to.keeps_others_waiting()) return to.why_not_paired();
  return to.facts == nullptr ? Blocker{to.name() + " is not connected"} : Blocker{};
}

void try_login(VerifyContext& context, SshLogin& login) {
  VerifyNode& from = context.nodes[login.from];
  const VerifyNode& to = context.nodes[login.to];
  if (const Blocker why = why_no_login(from, to)) return login.check.block(why);
  context.progress(from.name(), "logging in to " + to.name() + " as " + printable(login.user));
  const SshLoginRequest request{login.user, {{name_for(*to.spec, *from.spec), to.spec->ssh.port}}};
  const auto reply = from.ask(request, kLongestLogin);
  if (!reply && note_if_lost(from, reply.error())) {
    login.check.cause = from.name() + " is no longer connected";
    return;
  }
  judge_login(request, reply ? reply->logins.front() : SshLoginReply::Login{false, reply.error().describe()},
              login.check);
}

std::vector<Check> without_users(const VerifyContext& context) {
  std::vector<Check> checks;
  for (const VerifyNode& node : context.nodes) {
    if (!users_of(*node.spec).empty()) continue;
    checks.push_back(skipped(Level::kSsh, {node.name()}, "", "ssh_trust not declared",
                             "declare the users in cluster.yaml: ssh_trust: {users: [NAME]}"));
  }
  return checks;
}

}  // namespace

std::vector<Check> verify_ssh(VerifyContext& context) {
  std::vector<SshLogin> logins = logins_of(context);
  const auto stopped = [&] { return context.stop.stop_requested(); };
  std::vector<std::vector<SshLogin*>> to_itself(context.nodes.size());
  std::map<NodePair, std::vector<SshLogin*>> between;
  for (SshLogin& login : logins) {
    auto& group = login.from == login.to ? to_itself[login.from] : between[std::minmax(login.from, login.to)];
    group.push_back(&login);
  }
  const auto try_all = [&](const std::vector<SshLogin*>& group) {
    for (SshLogin* login : group) {
      if (!stopped()) try_login(context, *login);
    }
  };
  fan_out(to_itself, context.options.workers, try_all);
  const auto planned = [&](std::size_t one, std::size_t other) -> std::chrono::milliseconds {
    const auto found = between.find({one, other});
    return found == between.end() ? std::chrono::seconds(0) : kUsualLogin * std::ssize(found->second);
  };
  measure_pairs(context, planned, [&](std::size_t one, std::size_t other) { try_all(between.at({one, other})); });
  std::vector<Check> checks;
  for (SshLogin& login : logins) checks.push_back(std::move(login.check));
  append(checks, without_users(context));
  return checks;
}

}  // namespace sparkplan
