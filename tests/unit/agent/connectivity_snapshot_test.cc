// What a rollback restores of addresses and routes that DHCP or router advertisements gave.
#include "engine/agent/trial/connectivity_snapshot.h"
#include "engine/model/fields.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kThisBoot = "7e0c4f0e";

/// linux/rtnetlink.h, RTPROT_BOOT: `ip route add` without a protocol.
constexpr int kByHand = 3;

LinkFacts management(std::vector<std::string> addresses,
                     std::map<std::string, std::optional<std::int64_t>> acquired = {}) {
  LinkFacts link;
  link.name = "mgmt0";
  link.mtu = 1500;
  link.up = true;
  link.addresses = std::move(addresses);
  link.acquired = std::move(acquired);
  return link;
}

/// Our connection came to a lease of two hours. A neighbour advertised a prefix for five minutes.
ConnectivitySnapshot taken() {
  ConnectivitySnapshot snapshot;
  snapshot.links.push_back({"mgmt0",
                            1500,
                            true,
                            {"10.0.0.11/24", "10.9.0.1/24", "fd00:66::11/64"},
                            {{"10.0.0.11/24", 7200}, {"fd00:66::11/64", 300}}});
  snapshot.connection = "10.0.0.11";
  snapshot.taken_at = 1000;
  snapshot.boot = kThisBoot;
  return snapshot;
}

KernelRoute route(const std::string& destination, const std::string& gateway, int protocol, std::string source = {}) {
  return {"mgmt0", destination, gateway, 100, protocol, std::move(source)};
}

}  // namespace

TEST_CASE("snapshot: an address of DHCP or of a router keeps the end that it had") {
  const ConnectivitySnapshot due = still_due(taken(), 1060, kThisBoot);
  CHECK(due.links[0].lifetimes == std::map<std::string, std::int64_t>{{"10.0.0.11/24", 7140}, {"fd00:66::11/64", 240}});
  CHECK(due.links[0].addresses == taken().links[0].addresses);
}

TEST_CASE("snapshot: an address that has ended meanwhile is not restored") {
  const ConnectivitySnapshot due = still_due(taken(), 1300, kThisBoot);
  CHECK(due.links[0].addresses == std::vector<std::string>{"10.0.0.11/24", "10.9.0.1/24"});
  CHECK_FALSE(due.links[0].lifetimes.contains("fd00:66::11/64"));
}

TEST_CASE("snapshot: the address of our connection is restored for an hour at least, also in another boot") {
  const std::vector<std::pair<std::int64_t, std::string>> moments{
      {9000, kThisBoot}, {30, "another"}, {1060, "another"}};
  for (const auto& [now, boot] : moments) {
    const ConnectivitySnapshot due = still_due(taken(), now, boot);
    CHECK(due.links[0].addresses == std::vector<std::string>{"10.0.0.11/24", "10.9.0.1/24"});
    CHECK(due.links[0].lifetimes == std::map<std::string, std::int64_t>{{"10.0.0.11/24", 3600}});
  }
}

TEST_CASE("snapshot: an interface may have acquired other addresses, but not lost one or got one by hand") {
  const LinkState wanted{"mgmt0", 1500, true, {"10.0.0.11/24"}, {{"10.0.0.11/24", 3600}}};
  CHECK(shows(wanted, {management({"10.0.0.11/24", "fe80::1/64"})}));
  CHECK(shows(wanted, {management({"10.0.0.11/24", "fd00:67::11/64"}, {{"fd00:67::11/64", 5}})}));
  CHECK_FALSE(shows(wanted, {management({"10.0.0.12/24"}, {{"10.0.0.12/24", 3600}})}));
  CHECK_FALSE(shows(wanted, {management({"10.0.0.11/24", "10.5.5.5/24"})}));
  CHECK(shows(wanted, {}));
}

TEST_CASE("snapshot: a route that a router advertised is restored with an end") {
  const auto added = as_added(route("default", "fe80::66", kAdvertisedRoute), {management({"fd00:66::11/64"})});
  REQUIRE(added);
  CHECK(added->lifetime == 1800);
}

TEST_CASE("snapshot: a route of DHCP ends with the address of its lease") {
  const std::vector<LinkFacts> links{management({"10.9.0.1/24", "10.0.0.11/24"}, {{"10.0.0.11/24", 3540}})};
  for (const char* const source : {"", "10.0.0.11"}) {
    const auto added = as_added(route("default", "10.0.0.1", kDhcpRoute, source), links);
    REQUIRE(added);
    CHECK(added->source == "10.0.0.11");
    CHECK(added->lifetime == 0);
  }
  CHECK_FALSE(as_added(route("default", "10.0.0.1", kDhcpRoute, "10.0.0.99"), links));
}

TEST_CASE("snapshot: a route set by hand is restored as it was") {
  const auto added = as_added(route("10.8.0.0/16", "10.0.0.1", kByHand), {management({"10.0.0.11/24"})});
  REQUIRE(added);
  CHECK(added->source.empty());
  CHECK(added->lifetime == 0);
}

TEST_CASE("snapshot: lifetimes, the connection and the sources of routes survive encoding") {
  ConnectivitySnapshot snapshot = taken();
  snapshot.routes = {route("default", "10.0.0.1", kDhcpRoute, "10.0.0.11")};
  const auto kept = decode<ConnectivitySnapshot>(encode(snapshot));
  REQUIRE(kept);
  CHECK(kept->links[0].lifetimes == snapshot.links[0].lifetimes);
  CHECK(kept->connection == snapshot.connection);
  CHECK(kept->taken_at == snapshot.taken_at);
  CHECK(kept->boot == snapshot.boot);
  CHECK(kept->routes[0].source == "10.0.0.11");
}

TEST_CASE("snapshot: on other interfaces than that of our connection, routes of DHCP and routers are left to these") {
  const auto through = [](const std::string& interface, int protocol) {
    return KernelRoute{interface, "default", "10.66.0.1", 100, protocol};
  };
  const std::vector<KernelRoute> all{through("mgmt0", kDhcpRoute), through("mgmt0", kByHand),
                                     through("eth1", kDhcpRoute),  through("eth1", kAdvertisedRoute),
                                     through("eth1", kByHand),     through("eth2", kByHand)};
  const auto kept = routes_to_restore(all, {"mgmt0"}, {"eth1"});
  CHECK(kept ==
        std::vector<KernelRoute>{through("mgmt0", kDhcpRoute), through("mgmt0", kByHand), through("eth1", kByHand)});
}

TEST_CASE("snapshot: a router that advertises thousands of routes has a thousand of them restored") {
  std::vector<KernelRoute> all{route("10.8.0.0/16", "10.0.0.1", kByHand)};
  for (int i = 0; i < 5000; ++i)
    all.push_back(route("fd00:" + std::to_string(i) + "::/64", "fe80::66", kAdvertisedRoute));
  all.push_back(route("10.9.0.0/16", "10.0.0.1", kByHand));
  const auto kept = routes_to_restore(all, {"mgmt0"}, {});
  CHECK(kept.size() == 1002);
  CHECK(kept.back().destination == "10.9.0.0/16");
}

TEST_CASE("snapshot: a route through another interface that cannot be added keeps no rollback from ending") {
  LinkFacts cable;
  cable.name = "eth1";
  const auto may = [&](const std::string& interface) {
    const KernelRoute route{interface, "10.5.0.0/16", "192.168.100.1", 0, kByHand};
    return may_be_missing(route, taken(), {management({"10.0.0.11/24"}), cable});
  };
  CHECK(may("eth1"));
  CHECK_FALSE(may("mgmt0"));
  CHECK(may("eth9"));
}

}  // namespace sparkplan::test
