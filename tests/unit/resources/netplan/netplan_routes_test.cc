// Fabric subnets that a node already reaches over another route.
#include "resources/netplan/interfaces.h"
#include "tests/support/catch.h"

namespace sparkplan::netplan {
namespace {

ObservedPort half(const std::string& name, const std::string& address, int line) {
  ObservedPort interface;
  interface.interface = name;
  interface.address = address;
  interface.prefix_length = 24;
  interface.where = {line, 3, 9};
  return interface;
}

RouteFacts route(const std::string& interface, const std::string& destination, const std::string& gateway = "") {
  RouteFacts one;
  one.interface = interface;
  one.destination = destination;
  one.gateway = gateway;
  return one;
}

std::vector<Diagnostic> found(const std::vector<RouteFacts>& routes, const Value& section = Value::map()) {
  Facts facts;
  facts.host.routes = routes;
  return route_collisions("spark-01",
                          {half("enp1s0f1np1", "192.168.100.11", 4), half("enP2p1s0f1np1", "192.168.101.11", 5)},
                          {"enp1s0f0np0"}, section, facts);
}

}  // namespace

TEST_CASE("netplan: a route that overlaps a fabric subnet is reported with node, route and interface") {
  const auto findings = found({route("enP7s7", "192.168.100.0/24")});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].code == "fabric.subnet-has-route");
  CHECK(findings[0].message ==
        "the fabric subnet 192.168.100.0/24 overlaps 192.168.100.0/24, which spark-01 reaches through enP7s7");
  CHECK(findings[0].where.line == 4);
  CHECK(findings[0].node == "spark-01");
  CHECK_FALSE(findings[0].hint.empty());
}

TEST_CASE("netplan: wider and narrower routes collide too, whatever their origin") {
  CHECK(found({route("tun0", "192.168.0.0/16", "10.8.0.1")})[0].message.find("through tun0 via 10.8.0.1") !=
        std::string::npos);
  CHECK(found({route("docker0", "192.168.101.128/25")})[0].where.line == 5);
  CHECK(found({route("wg0", "192.168.100.7/32")}).size() == 1);
}

TEST_CASE("netplan: of thousands of routes that collide, a node has the first findings") {
  std::vector<RouteFacts> routes;
  for (int i = 0; i < 1000; ++i) routes.push_back(route("veth" + std::to_string(i), "192.168.100.0/25"));
  const auto findings = found(routes);
  REQUIRE(findings.size() == 64);
  CHECK(findings.front().message.find("veth0") != std::string::npos);
}

TEST_CASE("netplan: default routes, other networks, IPv6 and the fabric's own routes do not collide") {
  CHECK(found({route("enP7s7", "0.0.0.0/0", "10.0.0.1"), route("tun0", "0.0.0.0/1", "10.8.0.1"),
               route("tun0", "128.0.0.0/1", "10.8.0.1"), route("enP7s7", "10.0.0.0/24"), route("enP7s7", "::/0"),
               route("enP7s7", "fe80::/64"), route("enp1s0f1np1", "192.168.100.0/24"),
               route("enP2p1s0f1np1", "192.168.100.0/24"), route("enp1s0f0np0", "192.168.100.0/24")})
            .empty());
}

TEST_CASE("netplan: subnets of cables without an end on the node are checked too") {
  Value subnets = Value::list({"192.168.100.0/24", "192.168.101.0/24", "192.168.102.0/24"});
  (*subnets.list_items())[2].where = {7, 1, 2};
  const Value section = Value::map({{"subnets", subnets}});
  const auto findings = found({route("virbr0", "192.168.102.0/24")}, section);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].where.line == 7);
}

TEST_CASE("netplan: a leftover route of a bond without a carrier is explained in the hint") {
  RouteFacts stale = route("bond0", "192.168.100.0/24");
  stale.link_down = true;
  const auto findings = found({stale, stale});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].hint.find("bond0 has no carrier") == 0);
}

TEST_CASE("netplan: unreadable routes are an error, because a collision cannot be excluded") {
  Facts facts;
  facts.host.unreadable["routes"] = "list the routes: Out of memory";
  const auto findings =
      route_collisions("spark-01", {half("enp1s0f1np1", "192.168.100.11", 4)}, {}, Value::map(), facts);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].code == "fabric.routes-unreadable");
  CHECK(findings[0].message.find("list the routes: Out of memory") != std::string::npos);
  CHECK(findings[0].node == "spark-01");
}

TEST_CASE("netplan: a fabric without subnets never collides, even with unreadable routes") {
  Facts facts;
  facts.host.unreadable["routes"] = "list the routes: Out of memory";
  CHECK(route_collisions("spark-01", {half("enp1s0f1np1", "", 4)}, {}, Value::map({{"link_local", "ipv4"}}), facts)
            .empty());
}

TEST_CASE("netplan: a subnet inside a range of merged routes may collide, and other subnets do not") {
  RouteFacts many = route("bgp0", "192.168.100.0/22");
  many.stands_for = 300;
  const auto findings = found({many, route("tun0", "192.168.101.0/24")});
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].code == "fabric.routes-unreadable");
  CHECK(findings[0].message ==
        "spark-01 has too many routes to list: the fabric subnet 192.168.100.0/24 "
        "may overlap one of 300 through bgp0 to parts of 192.168.100.0/22");
  CHECK(findings[0].hint.find("`link_local: ipv4`, which needs none") != std::string::npos);
  CHECK(findings[0].where.line == 4);
  CHECK(findings[1].code == "fabric.subnet-has-route");
  many.destination = "10.0.0.0/8";
  CHECK(found({many}).empty());
}

}  // namespace sparkplan::netplan
