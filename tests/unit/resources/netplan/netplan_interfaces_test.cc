// Interfaces beside the fabric: their stanzas, routes, and what the type wants of them.
#include "engine/load/load.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/interfaces.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/netplan_file.h"
#include "tests/support/catch.h"
#include "tests/support/fake_networkd.h"

namespace sparkplan::netplan {
namespace {

using Texts = std::vector<std::string>;

const std::string kLan = "enp1s0f1np1";
const Route kGateway{"default", "192.168.0.1", std::nullopt};
const Route kStorage{"10.9.0.0/16", "192.168.0.9", 50};
const Stanza kLanStanza{9000, {"192.168.0.188/24"}, false, Renderer::kNetworkd, false, {kStorage, kGateway}};

/// In the kernel's form, on a little-endian machine.
const std::string kHeader = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
const std::string kShownGateway = "enp1s0f1np1\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
const std::string kShownStorage = "enp1s0f1np1\t0000090A\t0900A8C0\t0003\t0\t0\t50\t0000FFFF\t0\t0\t0\n";

LinkFacts lan_link() {
  LinkFacts link;
  link.name = kLan;
  link.mtu = 1500;
  link.up = true;
  link.carrier = true;
  return link;
}

Cluster cluster(const std::string& own) {
  auto loaded = load_cluster(
      "version: 1\nname: lab\nfabric: {topology: direct, port: 0}\nnodes:\n"
      "  - {name: spark-01, address: 192.168.0.11, " +
          own + "}\n  - {name: spark-02, address: 192.168.0.12}\n",
      "cluster.yaml", builtin_registry());
  for (const auto& one : loaded.diagnostics) UNSCOPED_INFO(one.message);
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

Facts spark_facts() {
  Facts facts;
  facts.product = "NVIDIA DGX Spark";
  return facts;
}

}  // namespace

TEST_CASE("netplan: a route's text is parsed back, and other texts are none") {
  for (const Route& route : {kGateway, kStorage}) CHECK(parse_route(route.str()) == route);
  CHECK(kStorage.str() == "10.9.0.0/16 via 192.168.0.9 metric 50");
  for (const char* const text :
       {"", "default", "default via", "default dev eth0", "a via b metric", "a via b metric x", "a via b metric 1 2"}) {
    CHECK_FALSE(parse_route(text));
  }
}

TEST_CASE("netplan: an interface beside the fabric survives the file and the encoding, with its routes") {
  const Stanzas stanzas{{kLan, kLanStanza}, {"enp1s0f0np0", {9000, {"10.0.0.1/24"}, false}}};
  const std::string text = render_file(stanzas);
  CHECK(text.find("        - {to: default, via: 192.168.0.1}\n") != std::string::npos);
  CHECK(text.find("        - {to: 10.9.0.0/16, via: 192.168.0.9, metric: 50}\n") != std::string::npos);
  CHECK(*parse_file(text) == stanzas);
  CHECK(decode_stanza(encode(kLanStanza)) == kLanStanza);
  CHECK(encode(stanzas.at("enp1s0f0np0")).find("fabric") == nullptr);
}

TEST_CASE("netplan: the declared routes are looked up in the kernel's table") {
  test::FakeNode node;
  node.add_file("/proc/net/route",
                kHeader + kShownGateway + "eth9\t0000090A\t0900A8C0\t0003\t0\t0\t50\t0000FFFF\t0\t0\t0\n");
  CHECK(*shown_routes(kLan, {kStorage, kGateway}, node) == Texts{kGateway.str()});
  node.add_file("/proc/net/route", kHeader + kShownStorage + kShownGateway + "garbage\n\t\t\n");
  CHECK(*shown_routes(kLan, {kStorage, kGateway}, node) == Texts{kStorage.str(), kGateway.str()});
  const Route other_metric{"10.9.0.0/16", "192.168.0.9", 60};
  CHECK(shown_routes(kLan, {other_metric}, node)->empty());
  CHECK(shown_routes(kLan, {}, test::FakeNode())->empty());
  CHECK_FALSE(shown_routes(kLan, {kGateway}, test::FakeNode()));
}

TEST_CASE("netplan: a declared route that the kernel lacks is a difference") {
  test::FakeNode node;
  node.add_link(lan_link());
  node.add_file(std::string(kOwnFile), render_file({{kLan, kLanStanza}}), 0600);
  node.add_file("/proc/net/route", kHeader + kShownGateway);
  const auto seen = observe_link(kLan, node);
  REQUIRE(std::holds_alternative<Present>(seen));
  CHECK(*std::get<Present>(seen).value.find("routes") == Value::list({kGateway.str()}));
  const auto wanted = link_state_wanted(kLanStanza, std::get<Present>(seen).value);
  CHECK(*std::get<Present>(wanted).value.find("routes") == Value::list({kStorage.str(), kGateway.str()}));
  // Without routes in our file, sparkplan ignores routes of other files.
  node.add_file(std::string(kOwnFile), render_file({{kLan, {9000, {"192.168.0.188/24"}, false}}}), 0600);
  CHECK(std::get<Present>(observe_link(kLan, node)).value.find("routes") == nullptr);
}

TEST_CASE("netplan: interfaces beside the fabric come after it, with their gateway and routes") {
  const Cluster file = cluster(
      "interfaces: [{name: enp1s0f1np1, address: 192.168.0.188/24, gateway: 192.168.0.1, mtu: 9000, routes: [{to: "
      "10.9.0.0/16, via: 192.168.0.9, metric: 50}]}]");
  const ClusterView view{file, file.nodes[0], {}};
  const auto wanted = wanted_interfaces(view, file.nodes[0].sections.at("fabric"), spark_facts(), Renderer::kNetworkd);
  CHECK(wanted.diagnostics.empty());
  REQUIRE(wanted.all.size() == 3);
  CHECK(wanted.all[0].stanza.fabric);
  CHECK(wanted.all[2].port.interface == kLan);
  CHECK(wanted.all[2].stanza == kLanStanza);
}

TEST_CASE("netplan: an interface of the fabric's port cannot be beside the fabric") {
  const Cluster file = cluster("interfaces: [{name: enP2p1s0f0np0, address: 192.168.0.188/24}]");
  const ClusterView view{file, file.nodes[0], {}};
  const auto wanted = wanted_interfaces(view, file.nodes[0].sections.at("fabric"), spark_facts(), Renderer::kNetworkd);
  CHECK(wanted.all.empty());
  REQUIRE(wanted.diagnostics.size() == 1);
  CHECK(wanted.diagnostics[0].code == "interfaces.also-fabric");
  CHECK(wanted.diagnostics[0].where.known());
}

TEST_CASE(
    "netplan: of thousands of profiles that cannot be read, the first ones are findings, and the rest is counted") {
  const Cluster file = cluster("ssh: {user: spark}");
  const auto findings = [&](std::size_t count) {
    ForeignFiles foreign;
    for (std::size_t i = 0; i < count; ++i) foreign.unread_profiles.push_back({"/p" + std::to_string(i), "no"});
    const std::map<std::string, NodeExports> exports{{"spark-01", {{"netplan", encode(foreign)}}}};
    const ClusterView view{file, file.nodes[0], exports};
    const auto& section = file.nodes[0].sections.at("fabric");
    auto desired = builtin_registry().find("netplan")->desired(view, section, spark_facts());
    std::erase_if(desired.diagnostics, [](const auto& one) { return one.code != "fabric.profile-unread"; });
    return desired.diagnostics;
  };
  CHECK(findings(64).size() == 64);
  CHECK(findings(65).back().message.starts_with("1 more profile of NetworkManager could not be read"));
  const auto many = findings(10'000);
  REQUIRE(many.size() == 65);
  CHECK(many.front().message.starts_with("/p0 could not be read"));
  CHECK(many.back().severity == Severity::kWarning);
  CHECK(many.back().message.starts_with("9936 more profiles of NetworkManager could not be read"));
}

TEST_CASE("netplan: what was applied beside the fabric goes back to `interfaces`") {
  const auto section = interfaces_from({{kLan, Value::map({{"persistent", encode(kLanStanza)}})}}, Facts());
  REQUIRE(section);
  CHECK(section->find("interfaces")->list_items()->empty());
  CHECK(
      *section->find("other_interfaces") ==
      Value::list({Value::map(
          {{"name", kLan},
           {"address", "192.168.0.188/24"},
           {"mtu", 9000},
           {"gateway", "192.168.0.1"},
           {"routes", Value::list({Value::map({{"to", "10.9.0.0/16"}, {"via", "192.168.0.9"}, {"metric", 50}})})}})}));
}

}  // namespace sparkplan::netplan
