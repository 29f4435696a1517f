#include "engine/verify/verify_context.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

/// The half has no address in the file; it may have found one of 169.254.0.0/16.
bool has_only_link_local(const ObservedPort& half) {
  return half.link_local && (half.address.empty() || half.address.starts_with("169.254."));
}

bool may_be_joined(const Cluster& cluster, const NodeName& one, const NodeName& other) {
  if (cluster.cables.empty()) return true;
  return std::any_of(cluster.cables.begin(), cluster.cables.end(), [&](const auto& cable) {
    return (cable.first == one && cable.second == other) || (cable.second == one && cable.first == other);
  });
}

bool belong_together(const Cluster& cluster, const VerifyNode& a, const ObservedPort& one, const VerifyNode& b,
                     const ObservedPort& other) {
  if (has_only_link_local(one) != has_only_link_local(other)) return false;
  if (has_only_link_local(one)) return one.half == other.half && may_be_joined(cluster, a.spec->name, b.spec->name);
  return share_network(one, other);
}

Blocker blocker_at(const VerifyContext& context, const VerifyNode& node, const ObservedPort& half) {
  if (!node.can_be_paired()) return node.why_not_paired();
  if (!node.facts->live) return {node.name() + " is not a running system"};
  if (auto failed = context.blocked_by_link(node, half)) return failed;
  if (half.address.empty()) return {node.name() + " has no address on " + half.interface};
  return {};
}

/// The subject of the failed check of a node that answers too late.
constexpr std::string_view kAnswers = "answers";
/// The subject of the failed check of a node whose pairs take too long.
constexpr std::string_view kPairs = "pairs";

Blocker why_kept(const VerifyNode& node) {
  return {
      node.name() + " kept " + std::to_string(node.waits.kept) + " nodes waiting; this level measures it no further",
      check_id(node.level, {node.name()}, kPairs)};
}

Check failed_check(Level level, const VerifyNode& node, std::string_view what, std::string text, std::string cause,
                   std::string fix) {
  Check check = skipped(level, {node.name()}, std::string(what), std::move(cause), std::move(fix));
  check.status = CheckStatus::kFail;
  check.text = std::move(text);
  return check;
}

}  // namespace

Blocker VerifyNode::why_not_asked() const {
  if (!is_too_late()) return {name() + " is not connected"};
  return {name() + " answered too late too often; this run does not ask it again", check_id(level, {name()}, kAnswers)};
}

Blocker VerifyNode::why_not_paired() const {
  return is_too_late() || !keeps_others_waiting() ? why_not_asked() : why_kept(*this);
}

std::string VerifyNode::absence() const { return is_too_late() ? why_not_asked().reason : "the node is not connected"; }

std::vector<Check> late_nodes(const VerifyContext& context, Level level) {
  std::vector<Check> checks;
  for (const VerifyNode& node : context.nodes) {
    if (node.level != level) continue;
    if (node.is_too_late()) {
      checks.push_back(failed_check(level, node, kAnswers, "answers in time", node.why_not_asked().reason,
                                    "check the load of the node and the network to it, or leave it out with `--only`"));
    }
    if (node.keeps_others_waiting()) {
      checks.push_back(
          failed_check(level, node, kPairs, "measured in time", why_kept(node).reason,
                       "check the load, the firewall and the cables of the node, or leave it out with `--only`"));
    }
  }
  return checks;
}

Blocker VerifyContext::blocked_by(std::string id) const {
  const bool failed = std::ranges::any_of(
      checks, [&](const Check& check) { return check.id == id && check.status == CheckStatus::kFail; });
  return failed ? Blocker{id + " failed", id} : Blocker{};
}

Blocker VerifyContext::blocked_by_link(const VerifyNode& node, const ObservedPort& half) const {
  return blocked_by(check_id(Level::kLink, {node.name()}, half.label()));
}

std::string new_token() {
  std::string token = new_uuid().value_or("");
  std::erase(token, '-');
  return token;
}

bool note_if_lost(VerifyNode& node, const Error& error) {
  if (error.code != ErrorCode::kUnreachable && error.code != ErrorCode::kInterrupted) return false;
  if (!node.lost) node.lost = error;
  return true;
}

void keep_agent(VerifyNode& node) {
  if (!node.can_be_asked()) return;
  if (const auto answered = node.ask(PingRequest{}); !answered) note_if_lost(node, answered.error());
}

void keep_agents(VerifyContext& context) { fan_out(context.nodes, context.options.workers, keep_agent); }

std::vector<HalfPair> half_pairs(const VerifyContext& context) {
  std::vector<HalfPair> pairs;
  for (std::size_t from = 0; from < context.nodes.size(); ++from) {
    for (std::size_t to = 0; to < context.nodes.size(); ++to) {
      if (from == to) continue;
      const VerifyNode& a = context.nodes[from];
      const VerifyNode& b = context.nodes[to];
      for (std::size_t i = 0; i < a.halves.size(); ++i) {
        for (std::size_t j = 0; j < b.halves.size(); ++j) {
          if (belong_together(context.cluster, a, a.halves[i], b, b.halves[j])) pairs.push_back({from, to, i, j});
        }
      }
    }
  }
  return pairs;
}

std::vector<Check> without_pairs(const VerifyContext& context, Level level, const std::vector<HalfPair>& pairs) {
  std::vector<Check> checks;
  for (std::size_t i = 0; i < context.nodes.size(); ++i) {
    const VerifyNode& node = context.nodes[i];
    if (std::any_of(pairs.begin(), pairs.end(), [&](const HalfPair& p) { return p.from == i || p.to == i; })) continue;
    if (!node.can_be_asked()) {
      checks.push_back(skipped(level, {node.name()}, "", node.absence()));
    } else if (node.spec->fabric.empty()) {
      checks.push_back(skipped(level, {node.name()}, "", "no fabric declared", std::string(kDeclareFabric)));
    } else if (const Blocker unread = unread_peers(context, node)) {
      checks.push_back(skipped(level, {node.name()}, "", unread.reason));
    } else {
      checks.push_back(skipped(level, {node.name()}, "", "no other node shares its networks"));
    }
  }
  return checks;
}

Blocker unread_peers(const VerifyContext& context, const VerifyNode& node) {
  std::vector<std::string> lost;
  std::vector<std::string> skipped;
  for (const NodeSpec& other : context.cluster.nodes) {
    const bool is_peer = other.name != node.spec->name && !other.fabric.empty() &&
                         may_be_joined(context.cluster, node.spec->name, other.name);
    if (!is_peer) continue;
    const auto part = std::find_if(context.nodes.begin(), context.nodes.end(),
                                   [&](const VerifyNode& one) { return one.spec->name == other.name; });
    if (part == context.nodes.end()) skipped.push_back(other.name.str());
    if (part != context.nodes.end() && part->facts == nullptr) lost.push_back(other.name.str());
  }
  const auto& names = lost.empty() ? skipped : lost;
  if (names.empty()) return {};
  return {fold_names(names) + (names.size() == 1 ? " is not " : " are not ") +
          (lost.empty() ? "part of this run" : "connected")};
}

Check check_of(Level level, const VerifyContext& context, const HalfPair& pair) {
  const VerifyNode& from = context.nodes[pair.from];
  return skipped(level, {from.name(), context.nodes[pair.to].name()}, from.halves[pair.from_half].label(),
                 "not measured");
}

Blocker blocker_of(const VerifyContext& context, const HalfPair& pair, bool mtu_too) {
  const VerifyNode& from = context.nodes[pair.from];
  const VerifyNode& to = context.nodes[pair.to];
  auto blocker = blocker_at(context, from, from.halves[pair.from_half]);
  if (!blocker) blocker = blocker_at(context, to, to.halves[pair.to_half]);
  const HalfPair back{pair.to, pair.from, pair.to_half, pair.from_half};
  for (const HalfPair& direction : {pair, back}) {
    if (!blocker && mtu_too) blocker = context.blocked_by(check_of(Level::kMtu, context, direction).id);
  }
  return blocker;
}

}  // namespace sparkplan
