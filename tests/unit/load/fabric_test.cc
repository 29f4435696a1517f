#include "engine/load/fabric.h"

#include <algorithm>

#include "engine/load/load.h"
#include "engine/model/port_name.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Cluster load_fabric(const std::string& body) {
  auto loaded = load_cluster("version: 1\nname: lab\n" + body, "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  return std::move(*loaded.cluster);
}

std::string nodes(int count) {
  std::string text = "nodes:\n";
  for (int i = 1; i <= count; ++i) {
    text += "  - {name: n" + std::to_string(i) + ", address: 10.0.0." + std::to_string(i) + "}\n";
  }
  return text;
}

/// "0 192.168.100.11/24 9000; 1 ...": half, address, MTU.
std::string addresses(const NodeSpec& node) {
  std::string text;
  for (const auto& address : node.fabric) {
    if (!text.empty()) text += "; ";
    text += std::to_string(address.half);
    if (!address.interface.empty()) text += " " + address.interface;
    if (!address.address.empty()) text += " " + address.address + "/" + std::to_string(address.prefix_length);
    if (address.link_local) text += " link-local";
    if (address.mtu) text += " " + std::to_string(*address.mtu);
  }
  return text;
}

}  // namespace

TEST_CASE("an IPv4 address is four plain decimal numbers") {
  CHECK(parse_ipv4("192.168.100.11")->str() == "192.168.100.11");
  for (const char* const text :
       {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "0x1.2.3.4", "1..2.3", "-1.2.3.4"}) {
    CHECK_FALSE(parse_ipv4(text));
  }
  CHECK(parse_ipv4_interface("10.1.2.3/16")->network().str() == "10.1.0.0/16");
  CHECK(parse_ipv4_interface("10.1.2.3/0")->network().str() == "0.0.0.0/0");
  for (const char* const text : {"10.1.2.3", "10.1.2.3/33", "10.1.2.3/", "10.1.2.3/-1", "10.1.2.3/024", "/24"}) {
    CHECK_FALSE(parse_ipv4_interface(text));
  }
}

TEST_CASE("networks are checked for containment and overlap") {
  const auto network = [](const char* text) { return parse_ipv4_interface(text)->network(); };
  CHECK(network("10.1.0.0/16").contains(*parse_ipv4("10.1.255.255")));
  CHECK_FALSE(network("10.1.0.0/16").contains(*parse_ipv4("10.2.0.0")));
  CHECK(network("10.1.0.0/16").overlaps(network("10.1.4.0/24")));
  CHECK(network("10.1.4.0/24").overlaps(network("10.1.0.0/16")));
  CHECK_FALSE(network("10.1.4.0/24").overlaps(network("10.1.5.0/24")));
  CHECK(network("10.1.4.0/24").broadcast().str() == "10.1.4.255");
}

TEST_CASE("a fabric address is network + 10 + id") {
  const auto network = *default_subnet(0);
  CHECK(network.str() == "192.168.100.0/24");
  CHECK(default_subnet(155)->str() == "192.168.255.0/24");
  CHECK_FALSE(default_subnet(156));
  CHECK_FALSE(default_subnet(-1));
  CHECK(derived_address(network, 1)->str() == "192.168.100.11");
  CHECK(derived_address(network, 244)->str() == "192.168.100.254");
  CHECK_FALSE(derived_address(network, 245));
  CHECK_FALSE(derived_address(network, 0));
  const Ipv4Network wide{*parse_ipv4("10.20.0.0"), 16};
  CHECK(largest_id(wide) == 65524);
  CHECK(derived_address(wide, 300)->str() == "10.20.1.54");
  CHECK(largest_id({*parse_ipv4("10.0.0.0"), 29}) == 0);
  CHECK(largest_id({*parse_ipv4("10.0.0.0"), 28}) == 4);
}

TEST_CASE("a default id is the number at the end of the name") {
  CHECK(id_from_name("spark-01") == 1);
  CHECK(id_from_name("spark-01.lab2.example") == 1);
  CHECK(id_from_name("7") == 7);
  CHECK(id_from_name("rack2-node12") == 12);
  for (const char* const name : {"", "spark", "spark-0", "spark-00", "1spark", "a99999999999999999999", "a16777216"}) {
    CHECK(id_from_name(name) == 0);
  }
}

TEST_CASE("direct and switch: one network per half, the same for all nodes") {
  const Cluster two = load_fabric("fabric: {topology: direct, port: 1}\n" + nodes(2));
  CHECK(addresses(two.nodes[0]) == "0 192.168.100.11/24 9000; 1 192.168.101.11/24 9000");
  CHECK(addresses(two.nodes[1]) == "0 192.168.100.12/24 9000; 1 192.168.101.12/24 9000");
  const Cluster eight = load_fabric("fabric: {topology: switch, mtu: 1500}\n" + nodes(8));
  CHECK(addresses(eight.nodes[0]) == "0 192.168.100.11/24 1500; 1 192.168.101.11/24 1500");
  CHECK(addresses(eight.nodes[7]) == "0 192.168.100.18/24 1500; 1 192.168.101.18/24 1500");
}

TEST_CASE("addresses do not depend on the order of the list") {
  const Cluster cluster = load_fabric(
      "fabric: {topology: direct}\nnodes:\n  - {name: b, id: 9, address: 10.0.0.1}\n  - {name: a4, address: "
      "10.0.0.2}\n");
  CHECK(addresses(cluster.nodes[0]) == "0 192.168.100.19/24 9000; 1 192.168.101.19/24 9000");
  CHECK(addresses(cluster.nodes[1]) == "0 192.168.100.14/24 9000; 1 192.168.101.14/24 9000");
}

TEST_CASE("dual-cable uses four networks") {
  const Cluster cluster = load_fabric("fabric: {topology: dual-cable, mtu: null}\n" + nodes(2));
  CHECK(addresses(cluster.nodes[1]) ==
        "0 192.168.100.12/24; 1 192.168.101.12/24; 2 192.168.102.12/24; 3 192.168.103.12/24");
}

TEST_CASE("a ring has two networks per cable, and one more node changes only one end") {
  const Cluster three = load_fabric("fabric: {topology: ring, mtu: null}\n" + nodes(3));
  CHECK(addresses(three.nodes[0]) ==
        "0 192.168.100.11/24; 1 192.168.101.11/24; 2 192.168.104.11/24; 3 192.168.105.11/24");
  CHECK(addresses(three.nodes[1]) ==
        "0 192.168.102.12/24; 1 192.168.103.12/24; 2 192.168.100.12/24; 3 192.168.101.12/24");
  CHECK(addresses(three.nodes[2]) ==
        "0 192.168.104.13/24; 1 192.168.105.13/24; 2 192.168.102.13/24; 3 192.168.103.13/24");
  const Cluster four = load_fabric("fabric: {topology: ring, mtu: null}\n" + nodes(4));
  CHECK(addresses(four.nodes[1]) == addresses(three.nodes[1]));
  CHECK(addresses(four.nodes[2]) == addresses(three.nodes[2]));
  CHECK(addresses(four.nodes[0]) ==
        "0 192.168.100.11/24; 1 192.168.101.11/24; 2 192.168.106.11/24; 3 192.168.107.11/24");
}

TEST_CASE("the cables of a ring may be declared, on any port") {
  const Cluster cluster = load_fabric(
      "fabric:\n  topology: ring\n  mtu: null\n  cables: [[n3:1, n1:0], [n1:1, n2:1], [n2:0, n3:0]]\n" + nodes(3));
  CHECK(addresses(cluster.nodes[0]) ==
        "0 192.168.104.11/24; 1 192.168.105.11/24; 2 192.168.100.11/24; 3 192.168.101.11/24");
  CHECK(addresses(cluster.nodes[1]) ==
        "0 192.168.102.12/24; 1 192.168.103.12/24; 2 192.168.100.12/24; 3 192.168.101.12/24");
}

TEST_CASE("a link-local fabric has no addresses in the file") {
  const Cluster cluster = load_fabric("fabric: {topology: direct, link_local: ipv4}\n" + nodes(2));
  CHECK(addresses(cluster.nodes[0]) == "0 link-local 9000; 1 link-local 9000");
}

TEST_CASE("a node's own interfaces replace the derived ones") {
  const Cluster cluster = load_fabric(
      "fabric: {topology: direct}\nnodes:\n  - {name: n1, address: 10.0.0.1}\n"
      "  - name: n2\n    address: 10.0.0.2\n    fabric:\n      interfaces:\n"
      "        - {name: enP2p1s0f1np1, link_local: ipv4, mtu: null}\n"
      "        - {name: enp1s0f1np1, address: 192.168.177.11/24, mtu: 4200}\n      hcas: [rocep1s0f1]\n");
  CHECK(addresses(cluster.nodes[0]) == "0 192.168.100.11/24 9000; 1 192.168.101.11/24 9000");
  CHECK(addresses(cluster.nodes[1]) == "1 enP2p1s0f1np1 link-local; 0 enp1s0f1np1 192.168.177.11/24 4200");
}

TEST_CASE("custom: interfaces may have only an MTU, and no defaults apply") {
  const Cluster cluster = load_fabric(
      "fabric: {topology: custom}\nnodes:\n  - {name: a, address: 10.0.0.1, fabric: {interfaces: [{name: eth1, mtu: "
      "9000}, {name: eth2}]}}\n");
  CHECK(addresses(cluster.nodes[0]) == "0 eth1 9000; 1 eth2");
}

TEST_CASE("a single subnet gives addresses to half A, and half B takes link-local ones") {
  const Cluster cluster = load_fabric("fabric: {topology: direct, subnets: [192.168.177.0/24]}\n" + nodes(2));
  CHECK(addresses(cluster.nodes[0]) == "0 192.168.177.11/24 9000; 1 link-local 9000");
}

TEST_CASE("a half without an address takes a link-local one beside the addresses of the others, if NCCL uses it") {
  const auto second = [](const std::string& twin, const std::string& rest = "") {
    const Cluster cluster = load_fabric(
        "fabric: {topology: custom}\nnodes:\n  - {name: a, address: 10.0.0.1, fabric: {interfaces: [{name: "
        "enp1s0f1np1, "
        "address: 192.168.177.11/24}, {" +
        twin + "}]" + rest + "}}\n");
    return addresses(cluster.nodes[0]).substr(std::string("0 enp1s0f1np1 192.168.177.11/24; ").size());
  };
  const std::string kTwin = "name: enP2p1s0f1np1, mtu: 9000";
  CHECK(second(kTwin) == "1 enP2p1s0f1np1 link-local 9000");
  CHECK(second(kTwin, ", hcas: [rocep1s0f1, roceP2p1s0f1]") == "1 enP2p1s0f1np1 link-local 9000");
  CHECK(second(kTwin, ", hcas: [mlx5_1]") == "1 enP2p1s0f1np1 link-local 9000");
  CHECK(second(kTwin, ", hcas: [rocep1s0f1]") == "1 enP2p1s0f1np1 9000");
  CHECK(second(kTwin + ", link_local: null") == "1 enP2p1s0f1np1 9000");
}

TEST_CASE("a topology with one network leaves half B alone if NCCL does not use it") {
  const Cluster cluster = load_fabric(
      "fabric: {topology: direct, port: 0, subnets: [192.168.177.0/24]}\nnodes:\n"
      "  - {name: n1, address: 10.0.0.1, fabric: {hcas: [rocep1s0f0]}}\n  - {name: n2, address: 10.0.0.2}\n");
  CHECK(addresses(cluster.nodes[0]) == "0 192.168.177.11/24 9000; 1 9000");
  CHECK(addresses(cluster.nodes[1]) == "0 192.168.177.12/24 9000; 1 link-local 9000");
}

TEST_CASE("one half in use is a warning in every topology") {
  const auto warnings = [](const std::string& fabric, const std::string& own) {
    const auto loaded = load_cluster("version: 1\nname: lab\nfabric: " + fabric +
                                         "\nnodes:\n  - {name: n1, address: 10.0.0.1, fabric: {" + own +
                                         "}}\n  - {name: n2, address: 10.0.0.2}\n",
                                     "cluster.yaml", builtin_registry());
    CHECK(loaded.cluster);
    return std::count_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                         [](const Diagnostic& one) { return one.code == "fabric.one-half"; });
  };
  CHECK(warnings("{topology: custom}", "interfaces: [{name: enP2p1s0f0np0, mtu: 9000}]") == 1);
  CHECK(warnings("{topology: custom}", "interfaces: [{name: enp1s0f0np0, link_local: ipv4}, {name: enp1s0f1np1}]") ==
        1);
  CHECK(warnings("{topology: direct}", "hcas: [roceP2p1s0f1]") == 1);
  CHECK(warnings("{topology: dual-cable}", "hcas: [rocep1s0f0, rocep1s0f1]") == 1);
  CHECK(warnings("{topology: direct, subnets: [10.1.0.0/24]}", "hcas: null") == 1);
  CHECK(warnings("{topology: custom}", "interfaces: [{name: enp1s0f1np1}, {name: enP2p1s0f1np1}]") == 0);
  // Not a DGX Spark's names: a server's adapter may be a whole port.
  CHECK(warnings("{topology: custom}", "interfaces: [{name: ens1f0np0}], hcas: [mlx5_0]") == 0);
}

TEST_CASE("the port of a cable may differ by node") {
  const auto fabric_of = [](const Cluster& cluster, std::size_t i) { return cluster.nodes[i].sections.at("fabric"); };
  const std::string list =
      "nodes:\n  - {name: n1, address: 10.0.0.1}\n  - {name: n2, address: 10.0.0.2, fabric: {OWN}}\n";
  const auto nodes_with = [&](const std::string& own) { return std::string(list).replace(list.find("OWN"), 3, own); };
  const Cluster one = load_fabric("fabric: {topology: switch, port: 1}\n" + nodes_with("port: 0"));
  CHECK(fabric_of(one, 0).integer_or("port", -1) == 1);
  CHECK(fabric_of(one, 1).integer_or("port", -1) == 0);
  CHECK(addresses(one.nodes[1]) == "0 192.168.100.12/24 9000; 1 192.168.101.12/24 9000");
  const Cluster two = load_fabric("fabric: {topology: dual-cable}\n" + nodes_with("ports: [1, 0]"));
  CHECK(port_of_half(two.nodes[0], 0) == 0);
  CHECK(port_of_half(two.nodes[1], 0) == 1);
  CHECK(port_of_half(two.nodes[1], 3) == 0);
  CHECK(addresses(two.nodes[1]).starts_with("0 192.168.100.12/24 9000; 1 192.168.101.12/24 9000; 2 192.168.102.12"));
}

TEST_CASE("a port that does nothing at a node is a warning with the key that does") {
  const auto hint = [](const std::string& fabric, const std::string& own) -> std::string {
    const auto loaded = load_cluster("version: 1\nname: lab\nfabric: " + fabric +
                                         "\nnodes:\n  - {name: n1, address: 10.0.0.1}\n  - {name: n2, address: "
                                         "10.0.0.2, fabric: {" +
                                         own + "}}\n  - {name: n3, address: 10.0.0.3}\n" +
                                         (fabric == "{topology: ring}" ? "  - {name: n4, address: 10.0.0.4}\n" : ""),
                                     "cluster.yaml", builtin_registry());
    for (const auto& one : loaded.diagnostics) {
      if (one.code == "fabric.no-effect" && one.message.find("of n2 does nothing") != std::string::npos) {
        return one.hint;
      }
    }
    return "none";
  };
  CHECK(hint("{topology: switch}", "port: 0") == "none");
  CHECK(hint("{topology: switch}", "port: null") == "none");
  CHECK(hint("{topology: switch}", "ports: [0, 1]") == "write \"port: 0\" or \"port: 1\"");
  CHECK(hint("{topology: dual-cable}", "port: 0").starts_with("write \"ports: [1, 0]\""));
  CHECK(hint("{topology: ring}", "port: 0") == "name the ports in \"cables\"");
  CHECK(hint("{topology: switch}", "port: 0, interfaces: [{name: eth1}]") == "delete it");
}

TEST_CASE("the fabric section of a node carries the defaults, and its ports the MTU") {
  const Cluster cluster = load_fabric("fabric: {}\n" + nodes(2));
  CHECK(cluster.nodes[0].sections.at("fabric") ==
        Value::map(
            {{"topology", "direct"}, {"port", 1}, {"subnets", Value::list({"192.168.100.0/24", "192.168.101.0/24"})}}));
  for (const FabricPort& port : cluster.nodes[0].fabric) CHECK(port.mtu == 9000);
}

}  // namespace sparkplan
