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

/// One member of a transfer, while its senders are planned.
struct RoutePlace {
  const NodeSpec* node = nullptr;                    ///< Null: the controller. Without a fabric.
  bool is_source = false;                            ///< It has everything.
  bool is_slow = false;                              ///< The others pass it by, if they can.
  std::optional<std::size_t> sender = std::nullopt;  ///< The place from which it receives already.
};

/// Pure. The place from which each one receives; nothing for sources. With a switch each source has a chain, and the
/// chains are about equally long: places that have a sender keep it, and the others continue the shortest chain. Slow
/// ones come last. With cables, each node receives from the neighbour that is nearest to a source, not through a slow
/// one if there is another way; a ring becomes two chains. Nodes that the fabric does not reach come last, over the
/// management network.
std::vector<std::optional<std::size_t>> senders(const Cluster& cluster, const std::vector<RoutePlace>& places);

}  // namespace sparkplan
