#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/named_enum.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// A network path from one node to the next: the addresses of both ends.
struct AddressPair {
  std::string from;
  std::string to;

  bool operator==(const AddressPair&) const = default;
};

enum class Network : std::uint8_t {
  kFabric,
  kManagement,  ///< Always encrypted.
  kSsh,         ///< From the controller, through connections to the node's sshd.
};
constexpr EnumNames<3> names_of(Network /*network*/) { return {"fabric", "management", "ssh"}; }

/// One end of a link.
struct RouteEnd {
  const NodeSpec* node = nullptr;
  bool is_controller = false;
  std::string address;  ///< On the management network, numeric; empty: not known.
};

/// How data travels from one end to the other: over all paths at once.
struct Route {
  std::vector<AddressPair> paths;  ///< Empty: not at all.
  Network network = Network::kFabric;
};

/// Pure. The fabric addresses over which two nodes reach each other: one pair per half that both have in one network.
/// Empty if the fabric does not join them, or only with link-local addresses.
std::vector<AddressPair> fabric_paths(const Cluster& cluster, const NodeSpec& from, const NodeSpec& to);

/// Pure. Over the fabric if that joins the two, else over the management network. `to` is a node.
Route route_between(const Cluster& cluster, const RouteEnd& from, const RouteEnd& to);

/// Pure. The place in `nodes` of the node from which each one receives; nothing for the source. With a switch the nodes
/// form one chain in their order. With cables, each node receives from the neighbour that is nearest to the source; a
/// ring becomes two chains. Nodes that the fabric does not reach come last, over the management network.
std::vector<std::optional<std::size_t>> senders(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes,
                                                std::size_t source);

}  // namespace sparkplan
