#include "engine/sync/route.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

bool has_cable(const Cluster& cluster, const NodeSpec& one, const NodeSpec& other) {
  return std::any_of(cluster.cables.begin(), cluster.cables.end(), [&](const auto& cable) {
    return (cable.first == one.name && cable.second == other.name) ||
           (cable.first == other.name && cable.second == one.name);
  });
}

/// The order in which the nodes receive, and from whom.
class Chain {
 public:
  Chain(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes, std::size_t source)
      : cluster_(cluster), nodes_(nodes), source_(source), senders_(nodes.size()) {}

  /// Each node behind the one before, as far as the fabric joins them; then the next one over the management network.
  void join_one_by_one() {
    std::size_t last = source_;
    while (const auto next = next_after(last)) {
      senders_[*next] = last;
      last = *next;
    }
  }

  void join_by_cables() {
    std::deque<std::size_t> reached{source_};
    std::size_t last = source_;
    while (!reached.empty()) {
      last = reached.front();
      reached.pop_front();
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!is_open(i) || fabric_paths(cluster_, *nodes_[last], *nodes_[i]).empty()) continue;
        senders_[i] = last;
        reached.push_back(i);
      }
      if (!reached.empty()) continue;
      const auto next = first_open();
      if (!next) return;
      senders_[*next] = last;
      reached.push_back(*next);
    }
  }

  std::vector<std::optional<std::size_t>> take() { return std::move(senders_); }

 private:
  bool is_open(std::size_t i) const { return i != source_ && !senders_[i]; }

  std::optional<std::size_t> first_open() const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (is_open(i)) return i;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> next_after(std::size_t last) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (is_open(i) && !fabric_paths(cluster_, *nodes_[last], *nodes_[i]).empty()) return i;
    }
    return first_open();
  }

  const Cluster& cluster_;
  const std::vector<const NodeSpec*>& nodes_;
  const std::size_t source_;
  std::vector<std::optional<std::size_t>> senders_;
};

}  // namespace

std::vector<AddressPair> fabric_paths(const Cluster& cluster, const NodeSpec& from, const NodeSpec& to) {
  std::vector<AddressPair> paths;
  if (!cluster.cables.empty() && !has_cable(cluster, from, to)) return paths;
  for (const FabricPort& out : from.fabric) {
    for (const FabricPort& in : to.fabric) {
      // A link-local address is random, and not in the file.
      if (share_network(out, in)) paths.push_back({out.address, in.address});
    }
  }
  return paths;
}

Route route_between(const Cluster& cluster, const RouteEnd& from, const RouteEnd& to) {
  if (from.is_controller) {
    // Two connections: while one waits for the next chunk, the other sends.
    const AddressPair loopback{"127.0.0.1", "127.0.0.1"};
    return {{loopback, loopback}, Network::kSsh};
  }
  Route route{fabric_paths(cluster, *from.node, *to.node), Network::kFabric};
  if (!route.paths.empty()) return route;
  const bool one_family = (from.address.find(':') == std::string::npos) == (to.address.find(':') == std::string::npos);
  if (!from.address.empty() && !to.address.empty() && one_family) route.paths.push_back({from.address, to.address});
  route.network = Network::kManagement;
  return route;
}

std::vector<std::optional<std::size_t>> senders(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes,
                                                std::size_t source) {
  Chain chain(cluster, nodes, source);
  if (cluster.cables.empty()) {
    chain.join_one_by_one();
  } else {
    chain.join_by_cables();
  }
  return chain.take();
}

}  // namespace sparkplan
