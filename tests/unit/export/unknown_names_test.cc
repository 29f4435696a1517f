// The remarks of exports about names that no file can have: RDMA devices, and the interface of the management network.
#include "engine/export/export.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

ExportedText docker_of(const LoadedCluster& loaded) {
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  auto exported = export_cluster(*loaded.cluster, "docker", builtin_registry(), [](const NodeSpec&) { return true; });
  REQUIRE(exported);
  return *std::move(exported);
}

ExportedText docker_of_example(const std::string& name) {
  const auto loaded = load_cluster_file(test::source_folder() + "/examples/" + name, builtin_registry());
  REQUIRE(loaded);
  return docker_of(*loaded);
}

std::vector<std::string> remarks_of(const std::string& sections) {
  constexpr const char* kNodes =
      "\nnodes:\n  - {name: spark-01, address: 10.0.0.11, fabric: {hcas: [rocep1s0f1, roceP2p1s0f1]}}\n"
      "  - {name: spark-02, address: 10.0.0.12, fabric: {hcas: [rocep1s0f1, roceP2p1s0f1]}}\n";
  return docker_of(load_cluster("version: 1\nname: lab\n" + sections + kNodes, "cluster.yaml", builtin_registry()))
      .remarks;
}

}  // namespace

TEST_CASE("export docker: the examples of guides give the HCAs of both halves to the container") {
  for (const auto& [name, hcas] : {std::pair{"link-local-pair.yaml", "rocep1s0f1,roceP2p1s0f1"},
                                   std::pair{"spark-networking-guide.yaml", "rocep1s0f1,roceP2p1s0f1"},
                                   std::pair{"direct-fabric-guide.yaml", "rocep1s0f0,roceP2p1s0f0"}}) {
    INFO(name);
    const auto exported = docker_of_example(name);
    CHECK(exported.text.find("-e 'NCCL_IB_HCA==" + std::string(hcas) + "'") != std::string::npos);
    for (const std::string& remark : exported.remarks)
      CHECK(remark.find("HCA or interface names") == std::string::npos);
  }
  CHECK(docker_of_example("spark-networking-guide.yaml").remarks.empty());
  CHECK(docker_of_example("direct-fabric-guide.yaml").remarks.empty());
}

TEST_CASE("export docker: where jobs meet in the management network, the remark names the variables to set") {
  for (const char* const name : {"three-node-ring.yaml", "link-local-pair.yaml"}) {
    INFO(name);
    const auto exported = docker_of_example(name);
    REQUIRE(exported.remarks.size() == 1);
    CHECK(exported.remarks[0].find("set GLOO_SOCKET_IFNAME, in a ring also NCCL_SOCKET_IFNAME") != std::string::npos);
  }
}

TEST_CASE("export docker: a variable that the file sets, or that no framework needs, is no remark") {
  const std::string fabric = "fabric: {topology: direct, port: 1, link_local: ipv4}\nnccl: ";
  CHECK(remarks_of(fabric + "{}").size() == 1);
  CHECK(remarks_of(fabric + "{frameworks: [ucx]}").empty());
  CHECK(remarks_of(fabric + "{env: {GLOO_SOCKET_IFNAME: enP7s7}}").empty());
}

}  // namespace sparkplan
