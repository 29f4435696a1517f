// The variables that cluster.yaml implies for the ranks of `run`, and for those of `verify`.
#include "engine/launch/job_plan.h"
#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "engine/verify/levels/nccl_places.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Variables = std::map<std::string, std::string>;

Cluster pair_with(const std::string& sections) {
  auto loaded = load_cluster(
      "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\n"
      "fabric: {topology: direct}\n" +
          sections +
          "\nnodes:\n  - {name: spark-01, address: 10.0.0.11}\n"
          "  - {name: spark-02, address: 10.0.0.12}\n",
      "cluster.yaml", builtin_registry());
  for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(one.message);
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

/// Without facts, the interfaces and devices are those of a DGX Spark.
Facts unseen() {
  Facts facts;
  facts.live = false;
  return facts;
}

Variables of_job(const Cluster& cluster, std::size_t node) {
  return rank_environment(cluster, cluster.nodes[node], unseen(), builtin_registry());
}

}  // namespace

TEST_CASE("a rank of `run` has profile_env and all that the fabric implies for its own node") {
  const Cluster cluster = pair_with("nccl: {env: {NCCL_DEBUG: WARN}}\nprofile_env: {HF_HOME: /srv/hf}");
  Variables expected{{"GLOO_SOCKET_IFNAME", "enp1s0f1np1"},
                     {"HF_HOME", "/srv/hf"},
                     {"NCCL_DEBUG", "WARN"},
                     {"NCCL_IB_HCA", "=rocep1s0f1,roceP2p1s0f1"},
                     {"NCCL_SOCKET_IFNAME", "=enp1s0f1np1"},
                     {"OMPI_MCA_btl_tcp_if_include", "192.168.100.0/24,192.168.101.0/24"},
                     {"OMPI_MCA_oob_tcp_if_include", "192.168.100.0/24"},
                     {"TP_SOCKET_IFNAME", "enp1s0f1np1"},
                     {"UCX_NET_DEVICES", "rocep1s0f1:1,roceP2p1s0f1:1"}};
  for (std::size_t node = 0; node < 2; ++node) {
    for (const char* const name :
         {"VLLM_HOST_IP", "SGLANG_HOST_IP", "RAY_NODE_IP_ADDRESS", "RAY_OVERRIDE_NODE_IP_ADDRESS"}) {
      expected[name] = "192.168.100.1" + std::to_string(node + 1);
    }
    CHECK(of_job(cluster, node) == expected);
  }
}

TEST_CASE("a rank of `run` has no variable of a framework that the file does not name, and none without `nccl`") {
  const Variables only_torch = of_job(pair_with("nccl: {mode: auto, frameworks: [torch]}"), 0);
  CHECK(only_torch == Variables{{"GLOO_SOCKET_IFNAME", "enp1s0f1np1"}, {"TP_SOCKET_IFNAME", "enp1s0f1np1"}});
  CHECK(of_job(pair_with("nccl: null"), 0).empty());
}

TEST_CASE("a rank of `run` searches the folder of the file's NCCL library first, as a login shell does") {
  const std::string library = "nccl: {mode: auto, frameworks: [], library: /opt/nccl/libnccl.so.2}\n";
  CHECK(of_job(pair_with(library), 0) == Variables{{"LD_LIBRARY_PATH", "/opt/nccl"}});
  CHECK(of_job(pair_with(library + "profile_env: {LD_LIBRARY_PATH: /opt/other}"), 0) ==
        Variables{{"LD_LIBRARY_PATH", "/opt/nccl:/opt/other"}});
}

TEST_CASE("a rank of `verify` has the same variables of frameworks as one of `run`") {
  const Cluster cluster = pair_with("nccl: {}");
  const auto environment = nccl_environment(cluster, cluster.nodes[1], unseen(), builtin_registry());
  CHECK(environment.variables == of_job(cluster, 1));
  CHECK(environment.variables.at("VLLM_HOST_IP") == "192.168.100.12");
}

}  // namespace sparkplan
