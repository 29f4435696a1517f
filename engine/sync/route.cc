#include "engine/sync/route.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "engine/model/address.h"

namespace sparkplan {
namespace {

bool has_cable(const Cluster& cluster, const NodeSpec& one, const NodeSpec& other) {
  return std::any_of(cluster.cables.begin(), cluster.cables.end(), [&](const auto& cable) {
    return (cable.first == one.name && cable.second == other.name) ||
           (cable.first == other.name && cable.second == one.name);
  });
}

/// The order in which the nodes receive, and from whom.
class SenderPlan {
 public:
  SenderPlan(const Cluster& cluster, const std::vector<RoutePlace>& places)
      : cluster_(cluster), places_(places), senders_(places.size()) {
    for (const bool slow : {false, true}) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i].is_source && places[i].is_slow == slow) order_.push_back(i);
        if (places[i].is_source && !slow) sources_.push_back(i);
      }
    }
  }

  /// Each node behind the last one of a chain, as far as the fabric joins them; then the next one over the management
  /// network.
  void join_one_by_one() {
    for (const std::size_t i : order_) {
      const auto sender = places_[i].sender;
      if (sender && !places_[i].is_slow && !passes_by(*sender)) senders_[i] = sender;
    }
    std::vector<Chain> chains;
    for (const std::size_t source : sources_) chains.push_back(to_its_end({source, 0}));
    const auto is_shorter = [](const Chain& one, const Chain& other) { return one.length < other.length; };
    while (const auto next = first_open()) {
      Chain* shortest = nullptr;
      for (Chain& chain : chains) {
        if (next_after(chain.last) && (shortest == nullptr || is_shorter(chain, *shortest))) shortest = &chain;
      }
      const std::size_t added = shortest == nullptr ? *next : *next_after(shortest->last);
      Chain& chain = shortest == nullptr ? *std::min_element(chains.begin(), chains.end(), is_shorter) : *shortest;
      senders_[added] = chain.last;
      chain = to_its_end({added, chain.length + 1});
    }
  }

  void join_by_cables() {
    std::deque<std::size_t> reached(sources_.begin(), sources_.end());
    std::deque<std::size_t> reached_slow;
    std::size_t last = sources_.front();
    while (true) {
      if (reached.empty()) reached.swap(reached_slow);
      if (reached.empty()) {
        const auto next = first_open();
        if (!next) return;
        senders_[*next] = last;
        reached.push_back(*next);
      }
      last = reached.front();
      reached.pop_front();
      for (const std::size_t i : order_) {
        if (!is_open(i) || !is_joined(last, i)) continue;
        senders_[i] = last;
        (places_[i].is_slow ? reached_slow : reached).push_back(i);
      }
    }
  }

  bool has_source() const { return !sources_.empty(); }
  std::vector<std::optional<std::size_t>> take() { return std::move(senders_); }

 private:
  struct Chain {
    std::size_t last = 0;
    std::size_t length = 0;
  };

  bool is_open(std::size_t i) const { return !places_[i].is_source && !senders_[i]; }
  bool passes_by(std::size_t i) const { return places_[i].is_slow && !places_[i].is_source; }
  bool is_joined(std::size_t from, std::size_t to) const {
    const NodeSpec* one = places_[from].node;
    const NodeSpec* other = places_[to].node;
    return one != nullptr && other != nullptr && !fabric_paths(cluster_, *one, *other).empty();
  }

  /// Along the places that have their senders already.
  Chain to_its_end(Chain chain) const {
    while (true) {
      const auto behind = std::ranges::find_if(order_, [&](std::size_t i) { return senders_[i] == chain.last; });
      if (behind == order_.end()) return chain;
      chain = {*behind, chain.length + 1};
    }
  }

  std::optional<std::size_t> first_open() const {
    const auto open = std::find_if(order_.begin(), order_.end(), [this](std::size_t i) { return is_open(i); });
    return open == order_.end() ? std::nullopt : std::optional(*open);
  }

  std::optional<std::size_t> next_after(std::size_t last) const {
    const auto next = std::ranges::find_if(order_, [&](std::size_t i) { return is_open(i) && is_joined(last, i); });
    return next == order_.end() ? std::nullopt : std::optional(*next);
  }

  const Cluster& cluster_;
  const std::vector<RoutePlace>& places_;
  std::vector<std::size_t> order_;  ///< Of the receivers.
  std::vector<std::size_t> sources_;
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
  const bool one_family = is_version_6(from.address) == is_version_6(to.address);
  if (!from.address.empty() && !to.address.empty() && one_family) route.paths.push_back({from.address, to.address});
  route.network = Network::kManagement;
  return route;
}

std::vector<std::optional<std::size_t>> senders(const Cluster& cluster, const std::vector<RoutePlace>& places) {
  SenderPlan plan(cluster, places);
  if (plan.has_source()) cluster.cables.empty() ? plan.join_one_by_one() : plan.join_by_cables();
  return plan.take();
}

}  // namespace sparkplan
