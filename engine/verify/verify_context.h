#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/resource/registry.h"
#include "engine/verify/check.h"
#include "engine/verify/nccl_choice.h"

namespace sparkplan {

struct VerifyOptions {
  std::vector<Level> levels = all_levels();  ///< Lowest first.
  /// The level that the user named: without a single check made at it, the run fails. Nothing if the user named none:
  /// the run fails without a check made at any level.
  std::optional<Level> required = {};
  std::size_t workers = 16;  ///< The number of nodes that are worked on at a time.
  /// For levels that open further connections.
  AgentOptions agent;
  std::chrono::milliseconds tcp_duration{500};  ///< For one measurement in one direction.
  std::chrono::milliseconds gpu_load{8'000};    ///< How long the level `gpu` loads each GPU, all at the same time.
  bool force = false;                           ///< The levels `gpu` and `nccl` also measure GPUs that programs use.
  /// Thresholds of the user's `verify:` section, in bits per second.
  std::optional<double> rdma_half;
  std::optional<double> nccl_busbw;
  NcclChoice nccl = {};
  std::vector<Check> refused = {};  ///< Failed checks that keep the run from measuring.
  bool with_history = false;        ///< The report has the earlier measurements, too.
};

/// An answer may come this much after its planned time: for the way to the node, and its load.
inline constexpr std::chrono::seconds kAnswerGrace{2};
/// The sum of what the answers of one node may exceed that in one run. Its pairs may cost as much at each level.
inline constexpr std::chrono::seconds kLateAllowance{60};

/// The time that the pairs of one node have cost at the current level.
struct PairWaits {
  /// By the index of the other node: how much longer than planned their measurements took.
  std::map<std::size_t, std::chrono::milliseconds> lost;
  std::size_t kept = 0;  ///< The number of nodes that it kept waiting. Not 0: the level measures no more pairs with it.
};

/// One node that takes part.
struct VerifyNode {
  const NodeSpec* spec = nullptr;
  AgentClient* client = nullptr;     ///< Null: the node is not connected; `lost` says why.
  const Facts* facts = nullptr;      ///< Null: never read.
  std::vector<ObservedPort> halves;  ///< In the order of NodeSpec::fabric.
  std::optional<Error> lost;         ///< Set by the first call that finds the connection broken.
  /// How much later than planned its answers to ask() came, in all. Otherwise a node that answers each request just
  /// before its deadline would hold the others for hours.
  std::chrono::milliseconds late{0};
  std::size_t requests = 0;  ///< The number that ask() has sent.
  PairWaits waits = {};
  Level level = Level::kLink;  ///< The one at work; of a node that is too late, the one at which it became so.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;  ///< For tests.

  const std::string& name() const { return spec->name.str(); }
  bool is_too_late() const { return late > kLateAllowance; }
  bool can_be_asked() const { return client != nullptr && !lost && !is_too_late(); }
  bool keeps_others_waiting() const { return waits.kept > 0; }
  bool can_be_paired() const { return can_be_asked() && !keeps_others_waiting(); }
  /// For a node that cannot be asked. A node that is too late has a failed check with that id.
  Blocker why_not_asked() const;
  /// For a node that cannot be measured with others. One that keeps them waiting has a failed check with that id.
  Blocker why_not_paired() const;
  /// As the reason of why_not_asked(), for checks of this node alone.
  std::string absence() const;

  /// The result of `work`, which waits for this node alone and takes at most `planned` on it.
  template <class Work>
  auto timed(std::chrono::milliseconds planned, Work work) {
    const auto begun = now();
    auto result = work();
    const auto took = std::chrono::ceil<std::chrono::milliseconds>(now() - begun);
    late += std::max(std::chrono::milliseconds(0), took - planned - kAnswerGrace);
    return result;
  }

  /// The answer to a request for which the agent takes at most `planned`. Errors: those of AgentClient::call(), and
  /// kFailed without a request once the node is too late.
  template <class Kind>
  Result<typename Kind::Reply> ask(const Kind& request, std::chrono::milliseconds planned = {}) {
    if (is_too_late()) return failure(ErrorCode::kFailed, why_not_asked().reason);
    ++requests;
    return timed(planned, [&] { return client->call(request); });
  }
};

/// The common input and output of the levels. Only `nodes` may be written by several threads at a time, each node by
/// one of them.
struct VerifyContext {
  const Cluster& cluster;
  std::vector<VerifyNode> nodes;  ///< Without those that are skipped.
  const VerifyOptions& options;
  std::stop_token stop;
  std::function<void(const std::string& node, std::string_view doing)> progress;
  std::vector<Check> checks = {};        ///< The checks of the lower levels.
  std::vector<std::string> tables = {};  ///< Complete measurements, for people; many lines each.
  const Registry* registry = nullptr;    ///< For levels that compare with the declared values.
  std::string run = {};                  ///< The id of this run.

  /// The check of that id, if it failed.
  Blocker blocked_by(std::string id) const;
  Blocker blocked_by_link(const VerifyNode& node, const ObservedPort& half) const;
};

/// 32 random hexadecimal digits, for OpenReceiverRequest::token. Empty without a random source: every receiver refuses
/// that.
std::string new_token();

/// Pure. The failed checks of the nodes that became too late at `level`, and of those that kept others waiting there.
std::vector<Check> late_nodes(const VerifyContext& context, Level level);

/// True when `error` means that the connection is broken; the node then counts as lost, and is not asked again. Every
/// other error is the agent's own answer.
bool note_if_lost(VerifyNode& node, const Error& error);

/// Sends a sign of life to the node's agent, if it can be asked: an agent without a request for an hour ends. A node
/// that does not answer is lost.
void keep_agent(VerifyNode& node);
/// keep_agent() for all nodes.
void keep_agents(VerifyContext& context);

/// Two halves of two nodes in one network.
struct HalfPair {
  std::size_t from = 0;  ///< Indexes into VerifyContext::nodes.
  std::size_t to = 0;
  std::size_t from_half = 0;  ///< Indexes into VerifyNode::halves.
  std::size_t to_half = 0;
};
/// Pure. Both directions of each pair, by `from`, `to`, half. Link-local halves are a pair if they are the same half of
/// two nodes that a cable or a switch joins.
std::vector<HalfPair> half_pairs(const VerifyContext& context);
/// The fix for "no fabric declared".
inline constexpr std::string_view kDeclareFabric = "declare the network between the nodes in cluster.yaml: `fabric`";

/// For each node without a pair, one skipped check with the reason.
std::vector<Check> without_pairs(const VerifyContext& context, Level level, const std::vector<HalfPair>& pairs);
/// The reason why a half of `node` may lack its other end in the checks: nodes that a cable or switch may join with it
/// did not answer, or take no part in the run. Empty without such nodes.
Blocker unread_peers(const VerifyContext& context, const VerifyNode& node);
/// A check of that pair, not yet made: LEVEL/FROM/TO/HALF.
Check check_of(Level level, const VerifyContext& context, const HalfPair& pair);
/// The reason if an end cannot be measured with others, or failed its check of links or, with `mtu_too`, of MTU.
Blocker blocker_of(const VerifyContext& context, const HalfPair& pair, bool mtu_too);

}  // namespace sparkplan
