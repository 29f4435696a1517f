#include "engine/verify/levels/levels.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/verify/pair_waits.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kStreams = 4;
constexpr std::string_view kLinkLocal = "169.254.";
/// The agent waits 4 s for each connection and 5 s for the arrival of the data. The other end can cause both waits.
constexpr std::chrono::seconds kLongestRest{4 * kStreams + 5};
/// For the three requests of a measurement, and the connections.
constexpr std::chrono::seconds kUsualRest{1};

RowId row_of(TcpOutcome outcome) {
  switch (outcome) {
    case TcpOutcome::kRefused:
      return "tcp-refused";
    case TcpOutcome::kDropped:
      return "tcp-dropped";
    case TcpOutcome::kNoRoute:
      return "tcp-no-route";
    case TcpOutcome::kDone:
    case TcpOutcome::kBroken:
      break;
  }
  return "tcp-broken";
}

/// Errors: those of the clients; `culprit` is the node that failed.
Result<MeasureTcpReply> measure(const VerifyContext& context, VerifyNode& from, const ObservedPort& out, VerifyNode& to,
                                const ObservedPort& in, VerifyNode*& culprit) {
  culprit = &to;
  const auto token = new_token();
  SPARK_TRY(const auto ear, to.ask(OpenReceiverRequest{{in.address, in.interface}, out.address, token}));
  culprit = &from;
  MeasureTcpRequest request{{out.address, out.interface},        in.address, ear.port, token, kStreams,
                            context.options.tcp_duration.count()};
  auto reply = from.ask(request, context.options.tcp_duration + kLongestRest);
  culprit = &to;
  SPARK_CHECK(to.ask(CloseReceiverRequest{{}, 0}));
  culprit = &from;
  return reply;
}

/// The nodes at each link-local address, in the file and by their own reports.
using LinkLocalOwners = std::map<std::string, std::set<std::size_t>>;

LinkLocalOwners link_local_owners(const VerifyContext& context) {
  LinkLocalOwners owners;
  const auto add = [&](const std::string& address, std::size_t node) {
    if (address.starts_with(kLinkLocal)) owners[address.substr(0, address.find('/'))].insert(node);
  };
  for (std::size_t i = 0; i < context.nodes.size(); ++i) {
    for (const FabricPort& port : context.nodes[i].spec->fabric) add(port.address, i);
    if (context.nodes[i].facts == nullptr) continue;
    for (const LinkFacts& link : context.nodes[i].facts->links) {
      for (const std::string& address : link.addresses) add(address, i);
    }
  }
  return owners;
}

/// Why nothing connects to the receiving half; empty without a reason. A link-local address is the node's own claim,
/// and the port is its choice: a connection could lead to another node.
std::string why_not_connected(const VerifyContext& context, const HalfPair& pair, const LinkLocalOwners& owners) {
  const VerifyNode& to = context.nodes[pair.to];
  const std::string& address = to.halves[pair.to_half].address;
  const bool declared =
      std::ranges::any_of(to.spec->fabric, [&](const FabricPort& port) { return port.address == address; });
  const auto found = owners.find(address);
  if (declared || found == owners.end()) return "";
  for (const std::size_t other : found->second) {
    if (other != pair.to) return to.name() + " and " + context.nodes[other].name() + " both have " + address;
  }
  return "";
}

void check_pair(VerifyContext& context, const HalfPair& pair, const LinkLocalOwners& owners, Check& check) {
  if (const Blocker blocker = blocker_of(context, pair, true)) return check.block(blocker);
  if (auto reason = why_not_connected(context, pair, owners); !reason.empty()) {
    check.status = CheckStatus::kFail;
    check.cause = std::move(reason);
    check.fix = "compare `ip -4 addr` of both nodes: one of the two addresses has to change";
    return;
  }
  VerifyNode& from = context.nodes[pair.from];
  VerifyNode& to = context.nodes[pair.to];
  VerifyNode* culprit = nullptr;
  const auto reply = measure(context, from, from.halves[pair.from_half], to, to.halves[pair.to_half], culprit);
  check.text = "TCP, " + std::to_string(kStreams) + " streams";
  if (!reply) {
    if (note_if_lost(*culprit, reply.error())) {
      const bool stopped = reply.error().code == ErrorCode::kInterrupted;
      check.cause = stopped ? "stopped" : culprit->name() + " is no longer connected: " + reply.error().describe();
    } else if (culprit->is_too_late()) {
      check.block(culprit->why_not_asked());
    } else {
      diagnose(check, CheckStatus::kFail, "tcp-broken", reply.error().describe());
    }
    return;
  }
  if (reply->outcome != TcpOutcome::kDone || reply->nanoseconds <= 0) {
    diagnose(
        check, CheckStatus::kFail, row_of(reply->outcome),
        "from " + from.name() + " to " + to.halves[pair.to_half].address + " of " + to.name() + ": " + reply->reason);
    return;
  }
  check.pass(check.text);
  check.value = static_cast<double>(reply->bytes) * 8.0 / static_cast<double>(reply->nanoseconds);
  check.unit = "Gb/s";
}

}  // namespace

std::vector<Check> verify_tcp(VerifyContext& context) {
  const auto pairs = half_pairs(context);
  std::vector<Check> checks;
  for (const HalfPair& pair : pairs) checks.push_back(check_of(Level::kTcp, context, pair));
  const LinkLocalOwners owners = link_local_owners(context);
  const auto stopped = [&] { return context.stop.stop_requested(); };
  const auto joins = [](const HalfPair& pair, std::size_t one, std::size_t other) {
    return std::minmax(pair.from, pair.to) == std::minmax(one, other);
  };
  const auto planned = [&](std::size_t one, std::size_t other) {
    const auto ways = std::ranges::count_if(pairs, [&](const HalfPair& pair) { return joins(pair, one, other); });
    return ways * (context.options.tcp_duration + kUsualRest);
  };
  const auto of_two = [&](std::size_t one, std::size_t other) {
    context.progress(context.nodes[one].name(), "measuring TCP with " + context.nodes[other].name());
    context.progress(context.nodes[other].name(), "measuring TCP with " + context.nodes[one].name());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (joins(pairs[i], one, other) && !stopped()) check_pair(context, pairs[i], owners, checks[i]);
    }
  };
  measure_pairs(context, planned, of_two);
  append(checks, without_pairs(context, Level::kTcp, pairs));
  return checks;
}

}  // namespace sparkplan
