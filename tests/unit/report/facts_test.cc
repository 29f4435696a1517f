// The text of `facts`.
#include "engine/core/text.h"
#include "engine/report/nodes/facts_report.h"
#include "tests/support/catch.h"
#include "tests/unit/report/golden.h"

namespace sparkplan {
namespace {

using testing::check_golden;

LinkFacts half(const std::string& name, const std::string& address, const std::string& hca) {
  LinkFacts link;
  link.name = name;
  link.mac = "4c:bb:47:00:00:11";
  link.mtu = 9000;
  link.up = true;
  link.carrier = true;
  link.addresses = {address, "fe80::4ebb:47ff:fe00:11/64"};
  link.port = "p1";
  link.pci = "0000:01:00.1";
  link.driver = "mlx5_core";
  link.rdma_devices = {hca};
  link.speed_mbps = 200'000;
  link.managed_by = "networkd";
  link.pcie = PcieLink{4, 4, "32.0 GT/s PCIe", "32.0 GT/s PCIe"};
  return link;
}

ExtendedFacts extended() {
  ExtendedFacts facts;
  facts.login.user = "nvidia";
  facts.login.sudo_without_password = true;
  facts.login.locked_memory_soft = "8388608";
  facts.login.locked_memory_hard = "unlimited";
  facts.clock_synchronised = true;
  facts.removes_ipc = false;
  facts.firewall = FirewallFacts{"inactive", {{"ip filter INPUT", {{"enp*", "", "drop", "policy drop"}}}}};
  facts.units = {{"docker.service", "active", "enabled", "infinity"},
                 {"nvidia-fabric.timer", "inactive", "disabled", ""}};
  facts.kernel_modules = {"mlx5_core", "nvidia", "nvme_tcp"};
  facts.sysctl = {{"net.core.rmem_max", "268435456"}, {"vm.swappiness", "10"}};
  facts.nvme = {{"nvme0", "pcie", "", "live", "nqn.2014.08.org.nvmexpress:uuid:1"}};
  facts.rdma_firmware = {{"rocep1s0f1", "28.45.4028", "NVD0000000087", {{"symbol_error", 3}, {"link_downed", 0}}}};
  facts.fstab = {{"UUID=1", "/", "ext4", "defaults"}};
  facts.netplan_merged = "network:\n  version: 2\n";
  facts.unreadable = {{"login.locked_memory", "/proc/self/limits: Permission denied"},
                      {"sshd", "sshd -T: Permission denied"}};
  return facts;
}

Facts spark() {
  Facts facts;
  facts.hostname = "spark-01";
  facts.machine_id = "3f0cb5a0d6a94d1c9a0f5a7f4e1b2c3d";
  facts.architecture = "aarch64";
  facts.kernel = "6.11.0-1016-nvidia";
  facts.os_name = "Ubuntu 24.04.3 LTS";
  facts.product = "NVIDIA DGX Spark";
  facts.nccl_version = "2.28.9";
  facts.memory_total_bytes = std::int64_t{128'528'433'152};
  facts.uptime_seconds = 12 * 86400 + 3 * 3600 + 60;
  facts.ssh_server_address = "10.0.0.11";
  facts.links = {half("enp1s0f1np1", "192.168.100.11/24", "rocep1s0f1"),
                 half("enP2p1s0f1np1", "192.168.101.11/24", "roceP2p1s0f1")};
  facts.links[1].carrier = false;
  facts.links[1].speed_mbps.reset();
  RdmaPortFacts port{1, "ACTIVE", "LinkUp", "Ethernet", "200 Gb/sec (4X HDR)", 4096, {}};
  port.gids = {{3, "RoCE v2", "::ffff:192.168.100.11", "enp1s0f1np1"}};
  facts.rdma_devices = {{"rocep1s0f1", "4cbb:4700:0000:0011", 1, {port}, "0000:01:00.1", {}}};
  facts.host.vendor = "NVIDIA";
  facts.host.board = "P4242";
  facts.host.bios_version = "5.36_0ACUM018";
  facts.host.bios_date = "2026-04-02";
  facts.host.gpu_driver = "580.95.05";
  facts.host.memory_available = std::int64_t{101} << 30;
  facts.host.cma_total = std::int64_t{128} << 20;
  facts.host.cma_free = std::int64_t{12} << 20;
  facts.host.renderers = {"networkd"};
  facts.host.host_keys = {{"ssh-ed25519", "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"}};
  RouteFacts route;
  route.interface = "enp1s0f1np1";
  route.destination = "192.168.100.0/24";
  route.protocol = "kernel";
  facts.host.routes = {route};
  facts.host.netplan_files = {{"/etc/netplan/60-sparkplan-fabric.yaml", 0600}};
  facts.extended = extended();
  return facts;
}

}  // namespace

TEST_CASE("the facts of a node are tables with units") {
  const Facts facts = spark();
  const std::string text = facts_text({"spark-01", &facts}, {});
  check_golden("facts-one-node", text);
  for (const auto line : split_lines(text)) CHECK_FALSE(line.ends_with(' '));
}

TEST_CASE("the facts of several nodes are compared: equal values are shown once") {
  std::vector<Facts> all(8, spark());
  all[7].host.gpu_driver = "580.82.07";
  all[6].host.gpu_driver = "";
  std::vector<NodeFacts> nodes;
  for (std::size_t at = 0; at < all.size(); ++at) {
    all[at].hostname = "spark-0" + std::to_string(at + 1);
    nodes.push_back({all[at].hostname, &all[at]});
  }
  check_golden("facts-eight-nodes", facts_comparison(nodes, {}));
}

TEST_CASE("a node without any hardware has short facts") {
  Facts facts;
  facts.live = false;
  facts.os_name = "Debian";
  const std::string text = facts_text({"image", &facts}, {});
  CHECK(text.starts_with("image\n"));
  CHECK(text.find("LINK") == std::string::npos);
  CHECK(text.find("a directory tree") != std::string::npos);
}

TEST_CASE("facts print no control character of a node") {
  Facts facts = spark();
  facts.os_name = "evil\x1b[2J";
  facts.links[0].name = "evil\x1b[2J";
  facts.extended->sysctl = {{"evil\x1b[2J", "a\nb"}};
  facts.extended->netplan_merged = "evil\x1b[2J";
  facts.extended->unreadable = {{"sshd", "evil\x1b[2J"}};
  CHECK(facts_text({"spark-01", &facts}, {}).find('\x1b') == std::string::npos);
  CHECK(facts_comparison({{"spark-01", &facts}}, {}).find('\x1b') == std::string::npos);
}

TEST_CASE("one long cell does not pad the cells of all other rows") {
  Facts facts = spark();
  facts.extended->sysctl.clear();
  std::size_t written = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "net.x" + std::to_string(i);
    facts.extended->sysctl[name] = "1";
    written += name.size() + 1;
  }
  const std::string longest(8000, 'n');
  facts.extended->sysctl[longest] = "the value";
  const std::string text = facts_text({"spark-01", &facts}, {});
  // All cells are there, each at most in a column of 80.
  CHECK(text.find("  " + longest + "\n") != std::string::npos);
  CHECK(text.find("\n" + std::string(84, ' ') + "the value\n") != std::string::npos);
  CHECK(text.find("  net.x1999 ") != std::string::npos);
  CHECK(text.size() < written + 2000 * 90 + 2 * longest.size());
}

TEST_CASE("bytes are shown in the unit that fits") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(8388608) == "8 MiB");
  CHECK(bytes_text(std::int64_t{128'528'433'152}) == "119.7 GiB");
  CHECK(bytes_text(std::int64_t{3} << 40) == "3 TiB");
}

TEST_CASE("facts: long error counters of a device with many ports are cut in each row") {
  Facts facts = spark();
  RdmaFirmwareFacts& firmware = facts.extended.emplace(extended()).rdma_firmware.front();
  for (int i = 0; i < 200; ++i) firmware.errors[std::to_string(i) + std::string(500, 'x')] = 1;
  facts.rdma_devices.front().port_facts.resize(100, facts.rdma_devices.front().port_facts.front());
  for (RdmaPortFacts& port : facts.rdma_devices.front().port_facts) port.gids.clear();
  CHECK(facts_text({"spark-01", &facts}, {}).size() < 500'000);
}

TEST_CASE("facts: the text of a node with megabytes of values is cut, and says so") {
  Facts facts = spark();
  ExtendedFacts& more = facts.extended.emplace(extended());
  std::string value;
  // Each line is broken behind 20 columns, and begins in column 84.
  while (value.size() < 8000) value += "\x7f\x7f\x7f\x7f\x7f ";
  for (int i = 0; i < 1000; ++i) more.sshd[std::to_string(i) + std::string(80, 'k')] = value;
  more.neighbours.resize(4096);
  const auto text = facts_text({"spark-01", &facts}, {});
  CHECK(text.size() < std::size_t{16} << 20);
  CHECK(text.find("The table is cut") != std::string::npos);
}

}  // namespace sparkplan
