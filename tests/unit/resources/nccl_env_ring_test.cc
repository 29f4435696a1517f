#include <algorithm>

#include "engine/domain/nccl/framework_environment.h"
#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "resources/nccl_env/nccl_env.h"
#include "tests/support/catch.h"

namespace sparkplan::nccl_env {
namespace {

using Variables = std::map<std::string, std::string>;
using Codes = std::vector<std::string>;

/// The first of `count` nodes in a topology, served as a directory tree: nothing depends on interfaces.
struct FirstOf {
  FirstOf(int count, const std::string& fabric, const std::string& nccl = "{mode: safe}") {
    std::string yaml = "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\nfabric: " + fabric +
                       "\nnccl: " + nccl + "\nnodes:\n";
    for (int i = 1; i <= count; ++i) {
      yaml += "  - {name: s" + std::to_string(i) + ", address: 10.0.0." + std::to_string(i) + "}\n";
    }
    LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
    for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(one.message);
    REQUIRE(loaded.cluster);
    cluster = *std::move(loaded.cluster);
    facts.product = "NVIDIA DGX Spark";
    facts.nccl_version = "2.30.7";
  }

  WantedSettings wanted() const {
    return wanted_settings({cluster, cluster.nodes[0], exports}, cluster.nodes[0].sections.at("nccl"), facts);
  }
  /// All of NCCL's variables except the devices and the interface, which every topology has.
  Variables variables() const {
    Variables found;
    for (const auto& [name, one] : wanted().variables) {
      const bool everywhere = name == "NCCL_IB_HCA" || name == "NCCL_SOCKET_IFNAME";
      if (!everywhere && find_framework_variable(name) == nullptr) found[name] = one.setting.profile.value_or("");
    }
    return found;
  }
  Codes codes() const {
    Codes found;
    for (const Diagnostic& one : wanted().diagnostics) {
      CHECK(one.node == "s1");
      found.push_back(std::string(to_string(one.severity)) + " " + one.code);
    }
    return found;
  }

  Cluster cluster;
  Facts facts;
  std::map<std::string, NodeExports> exports;
};

const Variables kOfARing{
    {"NCCL_IB_MERGE_NICS", "0"}, {"NCCL_IB_SUBNET_AWARE_ROUTING", "1"}, {"NCCL_NET_PLUGIN", "none"}};

}  // namespace

TEST_CASE("nccl_env: cables between two nodes and a switch of any size need only devices and interface") {
  CHECK(FirstOf(2, "{topology: direct}").variables().empty());
  CHECK(FirstOf(2, "{topology: dual-cable}").variables().empty());
  for (const int count : {2, 3, 8, 64}) CHECK(FirstOf(count, "{topology: switch}").variables().empty());
}

TEST_CASE("nccl_env: a ring selects devices by network, and from four nodes on sets NCCL_ALGO") {
  CHECK(FirstOf(3, "{topology: ring}").variables() == kOfARing);
  Variables of_four = kOfARing;
  of_four["NCCL_ALGO"] = "Ring";
  for (const int count : {4, 5, 8}) CHECK(FirstOf(count, "{topology: ring}").variables() == of_four);
  CHECK(FirstOf(4, "{topology: ring}", "{mode: auto}").variables().empty());
  CHECK_FALSE(FirstOf(4, "{topology: ring}", "{mode: socket}").variables().contains("NCCL_ALGO"));
}

TEST_CASE("nccl_env: no mode and no topology sets the GID index") {
  for (const char* const topology : {"{topology: ring}", "{topology: switch}"}) {
    for (const char* const mode : {"{mode: safe}", "{mode: dmabuf}", "{mode: socket}", "{mode: auto}"}) {
      CHECK_FALSE(FirstOf(4, topology, mode).variables().contains("NCCL_IB_GID_INDEX"));
    }
  }
}

TEST_CASE("nccl_env: a ring's networks are compared by their own prefix length") {
  const std::string narrow =
      "{topology: ring, subnets: [10.1.0.0/28, 10.1.0.16/28, 10.1.0.32/28, 10.1.0.48/28, 10.1.0.64/28, 10.1.0.80/28]}";
  CHECK(FirstOf(3, narrow).variables().at("NCCL_IB_SUBNET_PREFIX_LEN") == "28");
  CHECK_FALSE(FirstOf(3, "{topology: ring}").variables().contains("NCCL_IB_SUBNET_PREFIX_LEN"));
}

TEST_CASE("nccl_env: the file's variables override the computed ones in a ring too") {
  const auto variables =
      FirstOf(4, "{topology: ring}", "{env: {NCCL_ALGO: \"Ring,Tree\", NCCL_NET_PLUGIN: null}}").variables();
  CHECK(variables.at("NCCL_ALGO") == "Ring,Tree");
  CHECK_FALSE(variables.contains("NCCL_NET_PLUGIN"));
}

TEST_CASE("nccl_env: an NCCL without support for rings is reported, with the release that has it") {
  FirstOf ring(3, "{topology: ring}");
  CHECK(ring.codes().empty());
  ring.facts.nccl_version = "2.28.9";
  CHECK(ring.codes() == Codes{"warning nccl.ring-needs-newer"});
  ring.facts.nccl_version = "";
  CHECK(ring.codes().empty());
}

TEST_CASE("nccl_env: a declared library is checked instead of the system's") {
  const auto with = [](const std::string& library) {
    FirstOf ring(3, "{topology: ring}", "{library: " + library + "}");
    ring.facts.nccl_version = "2.28.9";
    return ring.codes();
  };
  CHECK(with("/opt/nccl/lib/libnccl.so.2.30.7").empty());
  CHECK(with("/opt/nccl/lib/libnccl.so.2.29.3") == Codes{"warning nccl.ring-needs-newer"});
  CHECK(with("/opt/nccl/lib/libnccl.so.2").empty());
}

TEST_CASE("nccl_env: settings that make NCCL connect all nodes are reported from four nodes on") {
  const auto codes = [](int count, const char* variable) {
    return FirstOf(count, "{topology: ring}", "{env: {" + std::string(variable) + "}}").codes();
  };
  CHECK(codes(4, "NCCL_CUMEM_ENABLE: 0") == Codes{"warning nccl.ring-connects-all"});
  CHECK(codes(4, "NCCL_RUNTIME_CONNECT: 0") == Codes{"warning nccl.ring-connects-all"});
  CHECK(codes(4, "NCCL_CUMEM_ENABLE: 1").empty());
  CHECK(codes(3, "NCCL_CUMEM_ENABLE: 0").empty());
}

TEST_CASE("nccl_env: the file's variables are checked against the node's NCCL and GPU") {
  FirstOf sparks(2, "{topology: direct}", "{env: {NCCL_IB_SUBNET_AWARE_ROUTING: 1, NCCL_NET_GDR_LEVEL: PHB}}");
  CHECK(sparks.codes() == Codes{"warning nccl.no-effect-here"});
  sparks.facts.nccl_version = "2.29.3";
  sparks.facts.product = "Some server";
  auto codes = sparks.codes();
  codes.erase(std::remove(codes.begin(), codes.end(), "warning nccl.no-rdma-device"), codes.end());
  CHECK(std::count(codes.begin(), codes.end(), "error nccl.too-new") == 1);
  CHECK(std::count(codes.begin(), codes.end(), "warning nccl.no-effect-here") == 0);
}

}  // namespace sparkplan::nccl_env
