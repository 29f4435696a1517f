#include "engine/sync/route.h"

#include <set>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Senders = std::vector<std::optional<std::size_t>>;

FabricPort routed_port(int half, const std::string& address) {
  FabricPort made;
  made.half = half;
  made.address = address;
  made.prefix_length = 24;
  return made;
}

NodeSpec node(const std::string& name, std::vector<FabricPort> fabric) {
  NodeSpec made{*NodeName::parse(name), 0, {}, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  made.fabric = std::move(fabric);
  return made;
}

Cluster on_a_switch(int nodes) {
  Cluster cluster;
  for (int i = 1; i <= nodes; ++i) {
    const auto id = std::to_string(10 + i);
    cluster.nodes.push_back(
        node("n" + std::to_string(i), {routed_port(0, "192.168.100." + id), routed_port(1, "192.168.101." + id)}));
  }
  return cluster;
}

/// All nodes of the cluster, none with a sender yet.
std::vector<RoutePlace> from(const Cluster& cluster, const std::set<std::size_t>& sources) {
  std::vector<RoutePlace> places;
  for (const NodeSpec& one : cluster.nodes) places.push_back({&one, sources.contains(places.size())});
  return places;
}

/// With a cable from each node to the next; in a ring also from the last to the first.
Cluster on_cables(std::size_t nodes, bool ring) {
  Cluster cluster;
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto net = [](std::size_t cable) { return "192.168." + std::to_string(100 + cable) + "."; };
    const auto id = std::to_string(11 + i);
    cluster.nodes.push_back(node("n" + std::to_string(i),
                                 {routed_port(0, net(i) + id), routed_port(1, net((i + nodes - 1) % nodes) + id)}));
  }
  for (std::size_t i = 0; i + (ring ? 0 : 1) < nodes; ++i) {
    cluster.cables.emplace_back(cluster.nodes[i].name, cluster.nodes[(i + 1) % nodes].name);
  }
  return cluster;
}

}  // namespace

TEST_CASE("route: both halves join two nodes of a switch") {
  const auto cluster = on_a_switch(2);
  CHECK(fabric_paths(cluster, cluster.nodes[0], cluster.nodes[1]) ==
        std::vector<AddressPair>{{"192.168.100.11", "192.168.100.12"}, {"192.168.101.11", "192.168.101.12"}});
}

TEST_CASE("route: halves with an address join two nodes, also with a link-local one beside it") {
  auto cluster = on_a_switch(2);
  for (NodeSpec& one : cluster.nodes) {
    one.fabric[0].link_local = true;
    one.fabric[1].link_local = true;
    one.fabric[1].address.clear();
  }
  CHECK(fabric_paths(cluster, cluster.nodes[0], cluster.nodes[1]) ==
        std::vector<AddressPair>{{"192.168.100.11", "192.168.100.12"}});
}

TEST_CASE("route: a switch makes one chain that begins at the source") {
  const auto cluster = on_a_switch(4);
  CHECK(senders(cluster, from(cluster, {0})) == Senders{std::nullopt, 0, 1, 2});
  CHECK(senders(cluster, from(cluster, {2})) == Senders{2, 0, std::nullopt, 1});
}

TEST_CASE("route: each of several sources on a switch has a chain, and the chains are about equally long") {
  const auto cluster = on_a_switch(7);
  CHECK(senders(cluster, from(cluster, {0, 1})) == Senders{std::nullopt, std::nullopt, 0, 1, 2, 3, 4});
  CHECK(senders(cluster, from(cluster, {1, 3, 5})) == Senders{1, std::nullopt, 3, std::nullopt, 5, std::nullopt, 0});
  CHECK(senders(cluster, from(cluster, {})) == Senders(7));
}

TEST_CASE("route: a source that the fabric does not reach has no chain beside one that it reaches") {
  auto cluster = on_a_switch(4);
  cluster.nodes[1].fabric.clear();
  CHECK(senders(cluster, from(cluster, {1, 3})) == Senders{3, std::nullopt, 0, std::nullopt});
  const auto whole = on_a_switch(4);
  auto places = from(whole, {0, 2});
  places[0].node = nullptr;  // The controller.
  CHECK(senders(whole, places) == Senders{std::nullopt, 2, std::nullopt, 1});
}

TEST_CASE("route: who has a sender keeps it, and the others continue the shortest chain") {
  const auto cluster = on_a_switch(6);
  auto places = from(cluster, {0, 1});
  places[2].sender = 0;
  places[4].sender = 3;  // The sender of 3 has failed.
  CHECK(senders(cluster, places) == Senders{std::nullopt, std::nullopt, 0, 1, 3, 2});
}

TEST_CASE("route: a slow node comes last in its chain") {
  const auto cluster = on_a_switch(4);
  auto places = from(cluster, {0});
  for (std::size_t i = 1; i < 4; ++i) places[i].sender = i - 1;
  places[1].is_slow = true;
  CHECK(senders(cluster, places) == Senders{std::nullopt, 3, 0, 2});
}

TEST_CASE("route: a ring makes two chains, and a slow node in it passes nothing on") {
  const auto cluster = on_cables(6, true);
  CHECK(senders(cluster, from(cluster, {0})) == Senders{std::nullopt, 0, 1, 2, 5, 0});
  auto places = from(cluster, {0});
  places[1].is_slow = true;
  CHECK(senders(cluster, places) == Senders{std::nullopt, 0, 3, 4, 5, 0});
  CHECK(senders(cluster, from(cluster, {0, 3})) == Senders{std::nullopt, 0, 3, std::nullopt, 3, 0});
}

TEST_CASE("route: where a slow node is the only way, it passes on") {
  const auto cluster = on_cables(4, false);
  auto places = from(cluster, {0});
  places[1].is_slow = true;
  CHECK(senders(cluster, places) == Senders{std::nullopt, 0, 1, 2});
}

TEST_CASE("route: a node without a fabric address comes last, over the management network") {
  auto cluster = on_a_switch(4);
  cluster.nodes[1].fabric.clear();
  CHECK(senders(cluster, from(cluster, {0})) == Senders{std::nullopt, 3, 0, 2});
  // The source itself has none: one node receives from it, and passes on over the fabric.
  CHECK(senders(cluster, from(cluster, {1})) == Senders{1, std::nullopt, 0, 2});
}

TEST_CASE("route: two islands of cables are joined over the management network once") {
  Cluster cluster;
  for (int i = 0; i < 4; ++i) {
    const auto net = "192.168." + std::to_string(100 + i / 2) + ".";
    cluster.nodes.push_back(node("n" + std::to_string(i), {routed_port(0, net + std::to_string(11 + i))}));
  }
  for (const std::size_t i : {0U, 2U}) cluster.cables.emplace_back(cluster.nodes[i].name, cluster.nodes[i + 1].name);
  CHECK(senders(cluster, from(cluster, {0})) == Senders{std::nullopt, 0, 1, 2});
}

TEST_CASE("route: the management addresses are used only without the fabric, and in one family") {
  auto cluster = on_a_switch(2);
  const RouteEnd one{&cluster.nodes[0], false, "10.0.0.1"};
  RouteEnd other{&cluster.nodes[1], false, "10.0.0.2"};
  CHECK(route_between(cluster, one, other).network == Network::kFabric);
  CHECK(route_between(cluster, one, other).paths.size() == 2);
  cluster.nodes[1].fabric.clear();
  const auto route = route_between(cluster, one, other);
  CHECK(route.network == Network::kManagement);
  CHECK(route.paths == std::vector<AddressPair>{{"10.0.0.1", "10.0.0.2"}});
  other.address = "fd00::2";
  CHECK(route_between(cluster, one, other).paths.empty());
  other.address = "";
  CHECK(route_between(cluster, one, other).paths.empty());
  CHECK(route_between(cluster, {nullptr, true, ""}, other).network == Network::kSsh);
}

}  // namespace sparkplan
