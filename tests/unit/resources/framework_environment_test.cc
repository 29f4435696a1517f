// The variables of Gloo, Open MPI, UCX, vLLM, SGLang and Ray, as the section `nccl` and the fabric imply them.
#include "engine/domain/nccl/framework_environment.h"

#include "engine/domain/fabric/job_network.h"
#include "engine/load/load.h"
#include "resources/nccl_env/nccl_env.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Variables = std::map<std::string, std::string>;

Cluster loaded(const std::string& fabric, const std::string& more = "nccl: {}", int count = 2) {
  std::string yaml = "version: 1\nname: lab\nssh: {user: nvidia}\nfabric: " + fabric + "\n" + more + "\nnodes:\n";
  for (int i = 1; i <= count; ++i) {
    const std::string number = std::to_string(i);
    yaml += "  - {name: s" + number + ", address: 10.0.0." + number + "}\n";
  }
  LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
  for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(one.message);
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

LinkFacts link(const std::string& name, const std::string& address, const std::string& hca = "") {
  LinkFacts facts;
  facts.name = name;
  facts.addresses = {address};
  if (!hca.empty()) facts.rdma_devices = {hca};
  return facts;
}

/// A Spark whose port 1 is cabled, reached over ssh as 10.0.0.1.
Facts facts_of_a_spark() {
  Facts facts;
  facts.product = "NVIDIA DGX Spark";
  facts.ssh_server_address = "10.0.0.1";
  facts.links = {link("enP7s7", "10.0.0.1/24"), link("enp1s0f1np1", "192.168.100.11/24", "rocep1s0f1"),
                 link("enP2p1s0f1np1", "192.168.101.11/24", "roceP2p1s0f1")};
  return facts;
}

Variables of_first(const Cluster& cluster, const Facts& facts = facts_of_a_spark()) {
  return framework_environment(cluster, cluster.nodes.front(), facts);
}

Variables nothing_but(const Variables& all, const std::vector<std::string>& names) {
  Variables some;
  for (const std::string& name : names) {
    if (const auto found = all.find(name); found != all.end()) some.insert(*found);
  }
  return some;
}

const Variables kOfAPair{{"GLOO_SOCKET_IFNAME", "enp1s0f1np1"},
                         {"TP_SOCKET_IFNAME", "enp1s0f1np1"},
                         {"OMPI_MCA_btl_tcp_if_include", "192.168.100.0/24,192.168.101.0/24"},
                         {"OMPI_MCA_oob_tcp_if_include", "192.168.100.0/24"},
                         {"UCX_NET_DEVICES", "rocep1s0f1:1,roceP2p1s0f1:1"},
                         {"VLLM_HOST_IP", "192.168.100.11"},
                         {"SGLANG_HOST_IP", "192.168.100.11"},
                         {"RAY_NODE_IP_ADDRESS", "192.168.100.11"},
                         {"RAY_OVERRIDE_NODE_IP_ADDRESS", "192.168.100.11"}};

}  // namespace

TEST_CASE("frameworks: on one cable every framework gets half A of its own node") {
  CHECK(of_first(loaded("{topology: direct, port: 1}")) == kOfAPair);
}

TEST_CASE("frameworks: networks are the same on all nodes, and addresses are not") {
  const Cluster cluster = loaded("{topology: switch, port: 1}", "nccl: {}", 8);
  const Variables first = framework_environment(cluster, cluster.nodes[0], facts_of_a_spark());
  const Variables last = framework_environment(cluster, cluster.nodes[7], facts_of_a_spark());
  REQUIRE(first.size() == framework_variables().size());
  for (const FrameworkVariable& one : framework_variables()) {
    const std::string name(one.name);
    INFO(name);
    const bool address = name.ends_with("_IP") || name.ends_with("_ADDRESS");
    CHECK((first.at(name) != last.at(name)) == address);
    if (!one.differs) CHECK(first.at(name) == last.at(name));
  }
}

TEST_CASE("frameworks: the key selects them, and an empty list selects none") {
  const auto with = [](const std::string& list) {
    return of_first(loaded("{topology: direct}", "nccl: {frameworks: " + list + "}"));
  };
  CHECK(with("[torch]") == nothing_but(kOfAPair, {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}));
  CHECK(with("[mpi]") == nothing_but(kOfAPair, {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"}));
  CHECK(with("[ucx]") == nothing_but(kOfAPair, {"UCX_NET_DEVICES"}));
  CHECK(with("[vllm]") == nothing_but(kOfAPair, {"VLLM_HOST_IP", "SGLANG_HOST_IP", "RAY_NODE_IP_ADDRESS",
                                                 "RAY_OVERRIDE_NODE_IP_ADDRESS"}));
  CHECK(with("[]").empty());
  CHECK(with("null") == kOfAPair);
}

TEST_CASE("frameworks: an unknown name is refused at its place") {
  const auto loaded = load_cluster(
      "version: 1\nname: l\nnccl: {frameworks: [torch, gloo]}\nfabric: {}\nnodes:\n  - {name: a1, address: a}\n"
      "  - {name: a2, address: b}\n",
      "cluster.yaml", builtin_registry());
  CHECK_FALSE(loaded.cluster);
  REQUIRE(has_errors(loaded.diagnostics));
  CHECK(loaded.diagnostics.front().where.line == 3);
}

TEST_CASE("frameworks: without a section nccl, or without a fabric, nothing is derived") {
  CHECK(of_first(loaded("{topology: direct}", "sysctl: {}")).empty());
  CHECK(of_first(loaded("null")).empty());
}

TEST_CASE("frameworks: a value of the user counts, and null in nccl env drops a variable") {
  const Variables variables = of_first(loaded("{topology: direct}",
                                              "nccl: {env: {UCX_NET_DEVICES: all, TP_SOCKET_IFNAME: null}}\n"
                                              "profile_env: {VLLM_HOST_IP: 10.9.9.9}"));
  CHECK_FALSE(variables.contains("UCX_NET_DEVICES"));
  CHECK_FALSE(variables.contains("TP_SOCKET_IFNAME"));
  CHECK_FALSE(variables.contains("VLLM_HOST_IP"));
  CHECK(variables.size() == kOfAPair.size() - 3);
}

TEST_CASE("frameworks: in a ring no cable joins all nodes, so they use the network of the SSH connection") {
  const Variables variables = of_first(loaded("{topology: ring}", "nccl: {}", 3));
  CHECK(variables.at("GLOO_SOCKET_IFNAME") == "enP7s7");
  CHECK(variables.at("VLLM_HOST_IP") == "10.0.0.1");
  CHECK(variables.at("OMPI_MCA_btl_tcp_if_include") == "10.0.0.0/24");
  CHECK(variables.at("UCX_NET_DEVICES") == "enP7s7");
}

TEST_CASE("frameworks: link-local addresses change, so they are never written down") {
  const Variables variables = of_first(loaded("{topology: direct, link_local: ipv4}"));
  CHECK(variables.at("GLOO_SOCKET_IFNAME") == "enP7s7");
  CHECK(variables.at("VLLM_HOST_IP") == "10.0.0.1");
  CHECK(variables.at("UCX_NET_DEVICES") == "rocep1s0f1:1,roceP2p1s0f1:1");
}

TEST_CASE("frameworks: mode socket keeps UCX from RDMA too, and so does a fabric without HCAs") {
  CHECK(of_first(loaded("{topology: direct}", "nccl: {mode: socket}")).at("UCX_NET_DEVICES") == "enp1s0f1np1");
  Facts facts = facts_of_a_spark();
  facts.product = "Some server";
  for (LinkFacts& one : facts.links) one.rdma_devices.clear();
  CHECK(of_first(loaded("{topology: direct}"), facts).at("UCX_NET_DEVICES") == "enp1s0f1np1");
}

TEST_CASE("frameworks: names that only an unseen node knows are left out, and addresses are there") {
  Facts unseen;
  unseen.live = false;
  const Variables variables = of_first(loaded("{topology: direct}"), unseen);
  CHECK_FALSE(variables.contains("GLOO_SOCKET_IFNAME"));
  CHECK_FALSE(variables.contains("UCX_NET_DEVICES"));
  CHECK(variables.at("VLLM_HOST_IP") == "192.168.100.11");
  CHECK(variables.at("OMPI_MCA_oob_tcp_if_include") == "192.168.100.0/24");
  // In a ring the address of cluster.yaml is all that is known; a host name is no address.
  Cluster ring = loaded("{topology: ring}", "nccl: {}", 3);
  CHECK(of_first(ring, unseen).at("VLLM_HOST_IP") == "10.0.0.1");
  ring.nodes[0].address = "spark.lan";
  CHECK(of_first(ring, unseen).empty());
}

TEST_CASE("frameworks: login shells have the variables, and NCCL's own file has not") {
  const Cluster cluster = loaded("{topology: direct}");
  const std::map<std::string, NodeExports> exports;
  const auto wanted = nccl_env::wanted_settings({cluster, cluster.nodes[0], exports},
                                                cluster.nodes[0].sections.at("nccl"), facts_of_a_spark());
  for (const auto& [name, value] : kOfAPair) {
    INFO(name);
    CHECK(wanted.variables.at(name).setting == nccl_env::Setting{value, {}, {}});
  }
}

TEST_CASE("frameworks: the section of an older apply, without frameworks, is restored with an empty list") {
  const Cluster cluster = loaded("{topology: direct}", "nccl: {frameworks: []}");
  const std::map<std::string, NodeExports> exports;
  const ClusterView view{cluster, cluster.nodes[0], exports};
  std::map<std::string, nccl_env::Setting> settings;
  const auto wanted = nccl_env::wanted_settings(view, cluster.nodes[0].sections.at("nccl"), facts_of_a_spark());
  for (const auto& [name, one] : wanted.variables) settings[name] = one.setting;
  const auto section = nccl_env::section_that_gives(settings, view, facts_of_a_spark());
  REQUIRE(section);
  CHECK(section->find("env") == nullptr);
  REQUIRE(section->find("frameworks") != nullptr);
  CHECK(section->find("frameworks")->list_items()->empty());
}

}  // namespace sparkplan
