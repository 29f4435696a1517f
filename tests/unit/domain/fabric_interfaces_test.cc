#include "engine/domain/fabric/fabric_interfaces.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

LinkFacts link(const std::string& name, const std::string& port = "", const std::string& pci = "") {
  LinkFacts facts;
  facts.name = name;
  facts.port = port;
  facts.pci = pci;
  return facts;
}

/// A node of a fabric on port `port` with `halves` derived halves.
NodeSpec node_on_port(int port, int halves = 2) {
  NodeSpec node{*NodeName::parse("spark-01"), 1, "10.0.0.11", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  node.sections.emplace("fabric", Value::map({{"port", port}}));
  for (int half = 0; half < halves; ++half) {
    FabricPort address;
    address.half = half;
    node.fabric.push_back(address);
  }
  return node;
}

std::vector<std::string> names(const FabricInterfaces& found) {
  std::vector<std::string> names;
  for (const auto& interface : found.interfaces) names.push_back(interface.interface);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("fabric interfaces: the halves of a port are found by phys_port_name, half A at the lower PCI address") {
  Facts facts;
  facts.links = {link("a", "p1", "0002:01:00.1"), link("b", "p1", "0000:01:00.1"), link("c", "p0", "0000:01:00.0"),
                 link("enp1s0f1np1", "p0", "0002:01:00.0")};
  const auto found = fabric_interfaces(node_on_port(1), facts, "");
  CHECK(names(found) == Names{"b", "a"});
  CHECK(found.diagnostics.empty());
  CHECK(found.interfaces[0].link == &facts.links[1]);
  CHECK(names(fabric_interfaces(node_on_port(0), facts, "")) == Names{"c", "enp1s0f1np1"});
}

TEST_CASE("fabric interfaces: without phys_port_name the end of the name gives the port") {
  Facts facts;
  facts.links = {link("enP2p1s0f1np1"), link("enP7s7"), link("enp1s0f0np0"), link("enp1s0f1np1"), link("mgmt0")};
  CHECK(names(fabric_interfaces(node_on_port(1), facts, "")) == Names{"enp1s0f1np1", "enP2p1s0f1np1"});
}

TEST_CASE("fabric interfaces: a virtual interface on a port is not a half") {
  Facts facts;
  facts.links = {link("enP2p1s0f1np1"), link("enp1s0f1np1"), link("vlan.np1")};
  facts.links[2].kind = "vlan";
  CHECK(names(fabric_interfaces(node_on_port(1), facts, "")) == Names{"enp1s0f1np1", "enP2p1s0f1np1"});
}

TEST_CASE("fabric interfaces: with several cables the halves are counted from port 0") {
  Facts facts;
  facts.links = {link("enP2p1s0f0np0"), link("enP2p1s0f1np1"), link("enp1s0f0np0"), link("enp1s0f1np1")};
  NodeSpec node = node_on_port(1, 4);
  node.sections["fabric"] = Value::map({{"topology", "dual-cable"}});
  CHECK(names(fabric_interfaces(node, facts, "")) ==
        Names{"enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"});
}

TEST_CASE("fabric interfaces: two cables may be in the other order at a node, and `port` does not count there") {
  Facts facts;
  facts.links = {link("enP2p1s0f0np0"), link("enP2p1s0f1np1"), link("enp1s0f0np0"), link("enp1s0f1np1")};
  NodeSpec node = node_on_port(1, 4);
  node.sections["fabric"] = Value::map({{"topology", "dual-cable"}, {"ports", Value::list({1, 0})}});
  CHECK(names(fabric_interfaces(node, facts, "")) ==
        Names{"enp1s0f1np1", "enP2p1s0f1np1", "enp1s0f0np0", "enP2p1s0f0np0"});
  node.sections["fabric"] = Value::map({{"topology", "dual-cable"}, {"port", 1}});
  CHECK(names(fabric_interfaces(node, facts, "")) ==
        Names{"enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"});
}

TEST_CASE("fabric interfaces: a missing port is one finding, with a remedy") {
  Facts facts;
  facts.links = {link("eth0"), link("enp1s0f1np1")};
  const auto found = fabric_interfaces(node_on_port(1), facts, "");
  CHECK(found.interfaces.empty());
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(found.diagnostics[0].code == "fabric.no-port");
  CHECK(found.diagnostics[0].message.find("enp1s0f1np1") != std::string::npos);
  CHECK(found.diagnostics[0].hint.find("interfaces") != std::string::npos);
}

TEST_CASE("fabric interfaces: a Spark without a cable powers its port off, which is no finding") {
  Facts facts;
  facts.product = "NVIDIA DGX Spark";
  facts.links = {link("enP7s7")};
  const auto found = fabric_interfaces(node_on_port(0), facts, "");
  CHECK(names(found) == Names{"enp1s0f0np0", "enP2p1s0f0np0"});
  CHECK(found.diagnostics.empty());
  CHECK(found.interfaces[0].link == nullptr);
  CHECK(found.interfaces[1].hcas == Names{"roceP2p1s0f0"});
  CHECK(found.interfaces[0].absent_because.find("cable") != std::string::npos);
}

TEST_CASE("fabric interfaces: an image of a Spark has standard names, and other images need declared ones") {
  Facts facts;
  facts.live = false;
  CHECK(names(fabric_interfaces(node_on_port(1), facts, "dgx-spark")) == Names{"enp1s0f1np1", "enP2p1s0f1np1"});
  CHECK(fabric_interfaces(node_on_port(1), facts, "").diagnostics.size() == 1);
}

TEST_CASE("fabric interfaces: a declared name that the node lacks is a finding at its position") {
  Facts facts;
  facts.links = {link("eth0"), link("ens5")};
  NodeSpec node = node_on_port(1, 1);
  node.fabric[0].interface = "ens6";
  node.fabric[0].where = {7, 3, 9};
  const auto found = fabric_interfaces(node, facts, "");
  CHECK(found.interfaces.empty());
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(found.diagnostics[0].code == "fabric.no-interface");
  CHECK(found.diagnostics[0].where.line == 7);
  CHECK(found.diagnostics[0].hint.find("ens5") != std::string::npos);
}

}  // namespace sparkplan
