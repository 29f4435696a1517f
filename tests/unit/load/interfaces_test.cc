// `interfaces` of a node: ports that are no part of the fabric.
#include <algorithm>

#include "engine/core/tree.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const std::string kLan = "{name: enp1s0f1np1, address: 192.168.0.188/24, gateway: 192.168.0.1}";

/// Two nodes in 192.168.0.0/24; the first has these `interfaces`, and the lines `more`.
LoadedCluster loaded(const std::string& interfaces, const std::string& more = "",
                     const std::string& fabric = "fabric: {topology: direct, port: 0}\n") {
  return load_cluster("version: 1\nname: lab\n" + fabric +
                          "nodes:\n  - name: spark-01\n    address: 192.168.0.11\n    interfaces: [" + interfaces +
                          "]\n" + more + "  - {name: spark-02, address: 192.168.0.12}\n",
                      "cluster.yaml", builtin_registry());
}

/// The codes of the findings, joined by blanks.
std::string codes(const LoadedCluster& loaded) {
  std::string text;
  for (const auto& one : loaded.diagnostics) text += (text.empty() ? "" : " ") + one.code;
  return text;
}

std::string codes(const std::string& interfaces, const std::string& more = "") {
  return codes(loaded(interfaces, more));
}

}  // namespace

TEST_CASE("interfaces may be in the management network, and are no part of the fabric") {
  const auto file = loaded(kLan + ", {name: enp1s0f0np9, mtu: 9000}");
  CHECK(codes(file).empty());
  REQUIRE(file.cluster);
  const NodeSpec& node = file.cluster->nodes[0];
  CHECK(node.fabric.size() == 2);
  for (const FabricPort& port : node.fabric) CHECK(port.address.starts_with("192.168.10"));
  CHECK(items_of(node.sections.at("fabric").find(kOtherInterfaces)).size() == 2);
  CHECK(file.cluster->nodes[1].sections.at("fabric").find(kOtherInterfaces) == nullptr);
}

TEST_CASE("interfaces need no fabric") {
  const auto file = loaded(kLan, "", "");
  CHECK(codes(file).empty());
  REQUIRE(file.cluster);
  CHECK(file.cluster->nodes[0].fabric.empty());
  CHECK_FALSE(declares_fabric(file.cluster->nodes[0]));
  Facts facts;
  facts.live = false;
  const auto found = other_interfaces(file.cluster->nodes[0], facts, "");
  REQUIRE(found.interfaces.size() == 1);
  CHECK(found.interfaces[0].interface == "enp1s0f1np1");
  CHECK(found.interfaces[0].address_text() == "192.168.0.188/24");
  CHECK_FALSE(found.interfaces[0].mtu);
}

TEST_CASE("interfaces: a name or device that the fabric has too is an error") {
  CHECK(codes(kLan, "    fabric: {interfaces: [{name: enp1s0f1np1, address: 10.9.0.1/24}, {name: enP2p1s0f1np1}]}\n") ==
        "interfaces.also-fabric");
  CHECK(codes(kLan, "    fabric: {hcas: [rocep1s0f0, roceP2p1s0f0, rocep1s0f1]}\n") ==
        "fabric.one-half interfaces.given-to-nccl");
  CHECK(codes(kLan + ", " + kLan) == "list.duplicate interfaces.duplicate-address interfaces.two-defaults");
}

TEST_CASE("interfaces: addresses, gateways and routes are checked at their places") {
  CHECK(codes("{name: eth1, address: 192.168.0.188}") == "interfaces.address");
  CHECK(codes("{name: eth1, address: 192.168.0.255/24}") == "interfaces.address");
  CHECK(codes("{name: eth1, gateway: 192.168.0.1}") == "interfaces.no-address");
  CHECK(codes("{name: eth1, routes: [{to: default, via: 192.168.0.1}]}") == "interfaces.no-address");
  CHECK(codes("{name: eth1, address: 10.7.0.1/24, gateway: 10.8.0.1}") == "interfaces.gateway");
  CHECK(codes("{name: eth1, address: 10.7.0.1/24, gateway: 10.7.0.1}") == "interfaces.gateway");
  CHECK(codes("{name: eth1, address: 10.7.0.1/24, routes: [{to: 10.9.0.1/16, via: 10.7.0.2}]}") == "interfaces.route");
  CHECK(codes("{name: eth1, address: 10.7.0.1/24, routes: [{to: lan, via: 10.7.0.2}]}") == "interfaces.route");
  CHECK(codes("{name: eth1, address: 10.7.0.1/24, routes: [{to: 10.9.0.0/16}]}") == "schema.missing-key");
  CHECK(codes("{name: eth1, address: 10.7.0.1/24, routes: [{to: 10.9.0.0/16, via: 10.7.0.2, metric: 50}]}").empty());
  CHECK(codes("{name: eth1, link_local: ipv4}") == "schema.unknown-key");
}

TEST_CASE("interfaces: an address belongs to one machine, and not to the fabric's networks") {
  CHECK(codes("{name: eth1, address: 192.168.0.12/24}") == "interfaces.duplicate-address");
  CHECK(codes("{name: eth1, address: 192.168.0.11/24}").empty());  // The node's own management interface.
  CHECK(codes("{name: eth1, address: 192.168.100.200/24}") == "interfaces.in-fabric-subnet");
  CHECK(codes(kLan + ", {name: eth1, address: 192.168.0.189/24}") == "interfaces.one-subnet");
  CHECK(codes(kLan + ", {name: eth1, address: 10.7.0.1/24, routes: [{to: default, via: 10.7.0.2, metric: 500}]}")
            .empty());
}

}  // namespace sparkplan
