#include "engine/sync/route.h"

#include <algorithm>
#include <deque>

#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

bool has_cable(const Cluster& cluster, const NodeSpec& one, const NodeSpec& other) {
  return std::any_of(cluster.cables.begin(), cluster.cables.end(), [&](const auto& cable) {
    return (cable.first == one.name && cable.second == other.name) ||
           (cable.first == other.name && cable.second == one.name);
  });
}

bool is_usable(const FabricPort& port) { return !port.link_local && parse_ipv4(port.address).has_value(); }

/// Each node behind the one before, as far as the fabric joins them; otherwise behind the source.
void join_in_chain(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes, std::size_t source,
                   std::vector<std::optional<std::size_t>>& senders) {
  std::size_t last = source;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i == source) continue;
    if (fabric_paths(cluster, *nodes[last], *nodes[i]).empty()) continue;
    senders[i] = last;
    last = i;
  }
}

void join_by_cables(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes, std::size_t source,
                    std::vector<std::optional<std::size_t>>& senders) {
  std::deque<std::size_t> reached{source};
  while (!reached.empty()) {
    const std::size_t at = reached.front();
    reached.pop_front();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i == source || senders[i] || fabric_paths(cluster, *nodes[at], *nodes[i]).empty()) continue;
      senders[i] = at;
      reached.push_back(i);
    }
  }
}

}  // namespace

std::vector<AddressPair> fabric_paths(const Cluster& cluster, const NodeSpec& from, const NodeSpec& to) {
  std::vector<AddressPair> paths;
  if (!cluster.cables.empty() && !has_cable(cluster, from, to)) return paths;
  for (const FabricPort& out : from.fabric) {
    for (const FabricPort& in : to.fabric) {
      if (!is_usable(out) || !is_usable(in) || out.prefix_length != in.prefix_length) continue;
      if (!in_one_network(out.address, in.address, out.prefix_length)) continue;
      paths.push_back({out.address, in.address});
    }
  }
  return paths;
}

std::vector<std::optional<std::size_t>> senders(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes,
                                                std::size_t source) {
  std::vector<std::optional<std::size_t>> found(nodes.size());
  if (cluster.cables.empty()) {
    join_in_chain(cluster, nodes, source, found);
  } else {
    join_by_cables(cluster, nodes, source, found);
  }
  return found;
}

}  // namespace sparkplan
