#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/remote/agent_client.h"
#include "engine/resource/registry.h"
#include "engine/verify/check.h"

namespace sparkplan {

struct VerifyOptions {
  std::vector<Level> levels = all_levels();  ///< In their order.
  std::size_t workers = 16;                  ///< Nodes worked on at a time.
  /// How nodes are reached, for a level that needs connections of its own.
  AgentOptions agent;
  std::chrono::milliseconds tcp_duration{500};  ///< Of one measurement in one direction.
  /// Thresholds of the user's `verify:` section, in bits per second.
  std::optional<double> rdma_half;
  std::optional<double> nccl_busbw;
};

/// One half of a node's fabric, as declared and as it is.
struct VerifyHalf {
  std::string label;                ///< "A", "B"; of further cables "C", "D" and on.
  int half = 0;                     ///< FabricAddress::half
  std::string interface;            ///< Empty where neither file nor facts could name it.
  std::string address;              ///< As declared; of a link-local half the one it has. Empty: none.
  int prefix_length = 0;            ///< Of `address`.
  bool link_local = false;          ///< Declared so.
  std::optional<int> mtu;           ///< As declared.
  const LinkFacts* link = nullptr;  ///< Points into the facts; null when the node does not show it.
  std::string absent_because;       ///< Why there is no link.
  std::vector<std::string> hcas;    ///< Its RDMA devices.
};

/// One node that takes part.
struct VerifyNode {
  const NodeSpec* spec = nullptr;
  AgentClient* client = nullptr;   ///< Null: the node cannot be asked; `lost` says why.
  const Facts* facts = nullptr;    ///< Null: never read.
  std::vector<VerifyHalf> halves;  ///< In the order of NodeSpec::fabric.
  std::optional<Error> lost;       ///< Set by whoever finds its connection broken.

  const std::string& name() const { return spec->name.str(); }
  bool can_be_asked() const { return client != nullptr && !lost; }
};

/// What the levels are given, one after the other. Only `nodes` may be written by several threads at a
/// time, each node by one of them.
struct VerifyContext {
  const Cluster& cluster;
  std::vector<VerifyNode> nodes;  ///< Without those that are skipped.
  const VerifyOptions& options;
  std::stop_token stop;
  std::function<void(const std::string& node, std::string_view doing)> tell;
  std::vector<Check> checks = {};        ///< Of the levels below.
  std::vector<std::string> tables = {};  ///< Measurements in full, for people; many lines each.
  const Registry* registry = nullptr;    ///< For a level that compares with what the file asks for.

  /// The check of that id, if there was one.
  const Check* find(std::string_view id) const;
  bool failed(std::string_view id) const;
};

/// A client that does not answer any more is not asked again: true when `error` is such a one, and the
/// node then counts as lost. Every other error is the agent's own answer.
bool note_if_lost(VerifyNode& node, const Error& error);

/// Two halves of two nodes that are in one network.
struct HalfPair {
  std::size_t from = 0;  ///< Places in VerifyContext::nodes.
  std::size_t to = 0;
  std::size_t from_half = 0;  ///< Places in VerifyNode::halves.
  std::size_t to_half = 0;
};
/// Pure. Both directions of each, by `from`, `to`, half. Link-local halves belong together when they are
/// the same halves of nodes that a cable or a switch joins.
std::vector<HalfPair> half_pairs(const VerifyContext& context);
/// For each node that is in none of the pairs, one check that says why it was not made.
std::vector<Check> without_pairs(const VerifyContext& context, Level level, const std::vector<HalfPair>& pairs);
/// LEVEL/FROM/TO/HALF
std::string id_of(Level level, const VerifyContext& context, const HalfPair& pair);
/// Why nothing can be measured there: a node that cannot be asked, or a check of links or MTU that failed
/// for one of its ends. Empty: nothing is in the way.
std::string obstacle(const VerifyContext& context, const HalfPair& pair, bool mtu_as_well);

}  // namespace sparkplan
