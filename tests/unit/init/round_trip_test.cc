// An applied file is lost and written again from the machines alone. It then asks every machine for the same state.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/catch.h"
#include "tests/support/source_folder.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
namespace {

void require_round_trip(const Cluster& first) {
  const auto machines = applied(first);
  const std::string written = draft_of(machines);
  INFO(written);
  const Cluster second = loaded(written);
  REQUIRE(second.name == first.name);
  REQUIRE(second.nodes.size() == first.nodes.size());
  for (std::size_t i = 0; i < first.nodes.size(); ++i) {
    const NodeSpec& before = first.nodes[i];
    const NodeSpec* after = second.find(before.name);
    INFO(before.name.str());
    REQUIRE(after != nullptr);
    CHECK(after->id == before.id);
    CHECK(after->address == before.address);
    CHECK(after->ssh.user == before.ssh.user);
    CHECK(after->ssh.port == before.ssh.port);
    CHECK(asked_of(second, *after, *machines[i].facts) == asked_of(first, before, *machines[i].facts));
  }
}

std::string frame(int nodes) {
  std::string text = "version: 1\nname: lab\nssh: {user: nvidia}\nnodes:\n";
  for (int i = 1; i <= nodes; ++i) {
    const std::string number = std::to_string(i);
    text += "  - {name: spark-0" + number + ", address: 10.0.0.1" + number + "}\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every example that is applied over SSH is restored") {
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().filename().string());
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("transport: local") != std::string::npos) continue;
    const auto file_and_beside = load_cluster_file(entry.path().string(), builtin_registry());
    REQUIRE(file_and_beside);
    REQUIRE(file_and_beside->cluster);
    require_round_trip(*file_and_beside->cluster);
    ++tried;
  }
  CHECK(tried >= 8);
}

TEST_CASE("every topology is restored by its name, without explicit addresses") {
  const std::vector<std::pair<int, std::string>> fabrics{
      {2, "{topology: direct, port: 1}"},
      {2, "{topology: direct, port: 0}"},
      {2, "{topology: direct, port: 1, mtu: 4200}"},
      {2, "{topology: direct, port: 1, mtu: null}"},
      {2, "{topology: direct, port: 1, subnets: [10.20.0.0/16, 10.21.0.0/16]}"},
      {2, "{topology: direct, port: 1, subnets: [10.20.0.0/24]}"},
      {2, "{topology: direct, port: 0, link_local: ipv4}"},
      {2, "{topology: dual-cable}"},
      {2, "{topology: dual-cable, subnets: [10.1.0.0/24, 10.2.0.0/24, 10.3.0.0/24, 10.4.0.0/24]}"},
      {3, "{topology: ring}"},
      {4, "{topology: ring, mtu: 4200}"},
      {3, "{topology: ring, cables: [[spark-01:1, spark-02:0], [spark-02:1, spark-03:0], [spark-03:1, spark-01:0]]}"},
      {3, "{topology: switch, port: 1}"},
      {8, "{topology: switch, port: 0}"},
      {8, "{topology: switch, port: 1, adopt: take-over}"},
  };
  for (const auto& [count, fabric] : fabrics) {
    INFO(count << " nodes, fabric: " << fabric);
    const std::string text = frame(count) + "hosts: {}\nnccl: {mode: safe}\nfabric: " + fabric + "\n";
    require_round_trip(loaded(text));
    const std::string written = draft_of(applied(loaded(text)));
    CHECK(written.find("interfaces:") == std::string::npos);
  }
}

TEST_CASE("addresses outside the scheme are restored word for word") {
  require_round_trip(loaded(
      "version: 1\nname: lab\nssh: {user: root}\nhosts: {}\nnccl: {}\nfabric: {topology: direct}\nnodes:\n"
      "  - {name: a, id: 7, address: 10.0.0.1, fabric: {interfaces: [{name: enp1s0f1np1, address: 10.9.0.1/30, mtu: "
      "9000}, {name: enP2p1s0f1np1, address: 10.9.0.5/30, mtu: 9000}]}}\n"
      "  - {name: b, id: 9, address: 10.0.0.2, ssh: {port: 2222}, fabric: {interfaces: [{name: enp1s0f0np0, address: "
      "10.9.0.2/30, mtu: null}, {name: enP2p1s0f0np0, link_local: ipv4, mtu: 4200}]}}\n"));
}

TEST_CASE("every kind of section is restored, also where nodes differ") {
  require_round_trip(loaded(frame(3) + R"(
sysctl: {net.core.rmem_max: 256MiB, vm.swappiness: 10, net.ipv4.tcp_rmem: "4096 87380 134217728"}
limits:
  - {domain: "*", item: memlock, value: unlimited}
  - {domain: "@users", item: nofile, type: soft, value: 1024}
  - {domain: "@users", item: nofile, type: hard, value: 4096}
profile_env: {HF_HOME: /mnt/models/hf, ODD: "a: b # \"c\" \\ {d}", TRUTH: "yes", NUMBER: "007", EMPTY: ""}
hosts: {suffix: .fast}
kernel_modules: [nvme-tcp, {name: nvme-core, options: "multipath=Y"}]
nccl: {mode: socket, library: /opt/nccl/lib/libnccl.so.2, env: {NCCL_DEBUG: WARN, UCX_TLS: rc}}
fabric: {topology: switch, port: 1}
ssh_trust: {users: [nvidia, root]}
units:
  - {name: a.service, content: "[Service]\nExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n", enabled: true}
  - {name: docker.service, drop_in: "[Service]\nLimitMEMLOCK=infinity\n", state: started}
  - {name: b.timer, enabled: false}
storage:
  - {target: /mnt/models, source: {nvme_tcp: {address: 10.0.0.99, subsystem: llm-models}}, type: ext4, options: [ro]}
  - {target: /mnt/scratch, source: {tmpfs: {size: 8GiB}}, options: [nosuid, nodev]}
)"));
  require_round_trip(loaded(R"(version: 1
name: lab
sysctl: {vm.swappiness: 10, vm.dirty_ratio: 5}
limits: [{domain: "*", item: memlock, value: 4096}]
nccl: {mode: safe, env: {NCCL_DEBUG: WARN}}
fabric: {topology: switch, port: 1}
kernel_modules: [nvme-tcp]
nodes:
  - {name: n1, address: 10.0.0.1, ssh: {user: anna}, sysctl: {vm.swappiness: 20}, kernel_modules: [dummy]}
  - {name: n2, address: 10.0.0.2, ssh: {user: root}, limits: [{domain: "*", item: memlock, value: 8192}, {domain: root, item: nofile, value: 5000}]}
  - {name: n3, address: 10.0.0.3, ssh: {user: root, become: none}, nccl: {env: {NCCL_DEBUG: INFO, NCCL_SOCKET_IFNAME: enP7s7}}, sysctl: null}
)"));
}

TEST_CASE("a node excluded from the fabric stays excluded") {
  require_round_trip(loaded("fabric: {topology: switch, port: 1}\nhosts: {}\n" + frame(3) +
                            "  - {name: head, id: 9, address: 10.0.0.99, fabric: null}\n"));
}

TEST_CASE("the profile's settings are restored as the profile on DGX Sparks, and as sections elsewhere") {
  const std::string body = frame(2) + "fabric: {topology: direct, port: 1}\nsysctl: {vm.swappiness: 10}\n";
  require_round_trip(loaded(body + "profile: dgx-spark\n"));
  const std::string written = draft_of(applied(loaded(body + "profile: dgx-spark\n")));
  CHECK(written.find("\nprofile: dgx-spark\n") != std::string::npos);
  CHECK(written.find("rmem_max:") == std::string::npos);
  CHECK(written.find("vm.swappiness: 10") != std::string::npos);
  auto others = applied(loaded(body + "profile: dgx-spark\n"));
  for (auto& machine : others) machine.facts->product = "Some server";
  const std::string plain = draft_of(others);
  CHECK(plain.find("profile:") == std::string::npos);
  CHECK(plain.find("net.core.rmem_max") != std::string::npos);
}

}  // namespace sparkplan::test
