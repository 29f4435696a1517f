#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

// The long example of the file's description, with its placeholders filled in.
const char* const kEverything = R"(
version: 1
name: lab
profile: dgx-spark
ssh: {user: nvidia, port: 22, identity: ~/.ssh/id_ed25519, host_keys: strict, become: sudo, jump: bastion}
fabric:
  topology: switch
  port: 1
  mtu: 9000
  subnets: [192.168.100.0/24, 192.168.101.0/24]
  link_local: ipv4
  cables: [[spark-01:0, spark-02:1]]
  adopt: refuse
nccl: {mode: safe, library: /opt/nccl/build/lib/libnccl.so.2, env: {NCCL_DEBUG: WARN}}
sysctl: {net.core.rmem_max: 256MiB}
limits: [{domain: "*", item: memlock, type: both, value: unlimited}]
units: [{name: rdma-tune.service, content: "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n", enabled: true, state: started}, {name: docker.service, drop_in: "[Service]\nLimitMEMLOCK=infinity\n"}]
profile_env: {HF_HOME: /mnt/models/hf}
ssh_trust: {users: [nvidia]}
hosts: {suffix: -fabric}
storage:
  - target: /mnt/models
    source: {nvme_tcp: {address: 192.168.0.100, port: 4420, subsystem: llm-models}}
    type: ext4
    options: [ro, noload]
packages: [nvme-cli, perftest]
kernel_modules: [nvme-tcp]
files: [{path: /etc/motd, content: "hello\n", mode: "0644"}]
firewall: {allow_fabric: true}
verify: {nccl_busbw: 21.875 GB/s, rdma_half: 100 Gb/s}
nodes:
  - name: spark-01
    id: 1
    address: 10.0.0.11
    host_key: "SHA256:uNiVztksCsDhcc0u9e8BrrQtNnWKrpVYZvUVcX9nSJo"
    maintenance: true
    transport: ssh
    fabric: {interfaces: [{name: enp1s0f1np1, address: 192.168.177.11/24, mtu: 9000}, {name: enP2p1s0f1np1, mtu: 9000, link_local: ipv4}], hcas: [rocep1s0f1, roceP2p1s0f1]}
    sysctl: {vm.swappiness: 10}
  - {name: spark-02, address: 10.0.0.12}
)";

}  // namespace

TEST_CASE("a file with every key is valid") {
  const auto loaded = load_cluster(kEverything, "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(render(diagnostic, loaded.source));
  REQUIRE(loaded.cluster);
  CHECK(loaded.cluster->nodes[0].sections.size() == 14);
  // Networks and cables beside link_local and a switch are allowed, and reported as ineffective.
  CHECK(loaded.diagnostics.size() == 2);
}

TEST_CASE("every example loads, names its schema, and has only findings about its layout") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() + "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    INFO(entry.path().filename().string());
    const auto loaded = load_cluster_file(entry.path(), builtin_registry());
    REQUIRE(loaded);
    for (const auto& diagnostic : loaded->diagnostics) UNSCOPED_INFO(diagnostic.message);
    // The guide of that name uses one half.
    const bool one_half = entry.path().filename() == "multi-node-rdma-guide.yaml";
    for (const auto& diagnostic : loaded->diagnostics) {
      CHECK((diagnostic.code == "nodes.not-a-power-of-two" || (one_half && diagnostic.code == "fabric.one-half")));
    }
    CHECK(loaded->cluster.has_value());
    CHECK(loaded->source.starts_with("# yaml-language-server: $schema=../schemas/cluster.schema.json\n"));
  }
  CHECK(count >= 12);
}

TEST_CASE("an unreadable path is an error, and a file that is too long is a finding") {
  const auto code = [](const std::string& path) { return load_cluster_file(path, builtin_registry()).error().code; };
  CHECK(code("/nonexistent/cluster.yaml") == ErrorCode::kNotFound);
  CHECK(code("/dev/null") == ErrorCode::kUnsupported);
  CHECK(code("/") == ErrorCode::kUnsupported);
  const auto path = std::filesystem::temp_directory_path() / "sparkplan-load-too-long.yaml";
  std::ofstream(path) << std::string((1 << 20) + 5, '#');
  const auto loaded = load_cluster_file(path, builtin_registry());
  std::filesystem::remove(path);
  REQUIRE(loaded);
  REQUIRE(loaded->diagnostics.size() == 1);
  CHECK(loaded->diagnostics.front().code == "yaml.too-long");
}

}  // namespace sparkplan
