// Host facts: over the wire, and with unreadable parts.
#include "engine/model/facts.h"
#include "tests/support/catch.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

HostFacts some_host_facts() {
  HostFacts facts;
  facts.vendor = "NVIDIA";
  facts.board = "P4242";
  facts.bios_version = "5.36_0ACUM018";
  facts.bios_date = "2026-04-02";
  facts.kernel_command_line = "quiet kho=off";
  facts.gpu_driver = "580.95.05";
  facts.nvme_host_nqn = "nqn.2014-08.org.nvmexpress:uuid:1";
  facts.nvme_host_id = "1";
  facts.memory_available = std::int64_t{1} << 36;
  facts.cma_total = 0;
  facts.renderers = {"NetworkManager"};
  facts.host_keys = {{"ssh-ed25519", "SHA256:abc"}};
  facts.routes = {{"enp1s0f1np1", "192.168.100.0/24", "", 100, "kernel", true, 254},
                  {"tun0", "10.1.0.0/16", "", 0, "", false, 254, 300}};
  facts.network_profiles = {{"Wired connection 1", "u", "ethernet", "enp1s0f1np1", "52:54:00:00:00:01", "auto", false,
                             ProfileOrigin::kGenerated, "/run/x"}};
  facts.netplan_files = {{"/etc/netplan/50.yaml", 0600}};
  facts.unreadable = {{"vendor", "Permission denied"}};
  return facts;
}

ExtendedFacts some_extended() {
  ExtendedFacts facts;
  facts.neighbours = {{"enp1s0f1np1", "192.168.100.12", "52:54:00:00:00:02", "reachable"}};
  facts.sshd = {{"usepam", "yes"}};
  facts.login = {"nvidia", 1000, true, "8388608", "unlimited", {{"NCCL_DEBUG", "WARN"}}, false};
  facts.firewall =
      FirewallFacts{"active", {{"ip filter INPUT", {{"lo", "10.0.0.0/8", "accept", "iifname \"lo\" accept"}}}}};
  facts.clock_synchronised = false;
  facts.removes_ipc = true;
  facts.earlyoom_avoids = "^vllm$";
  facts.netplan_error = "e";
  facts.netplan_merged = "network: {}";
  facts.units = {{"docker.service", "active", "enabled", "infinity"}};
  facts.kernel_modules = {"mlx5_core"};
  facts.modules_at_boot = {"nvme-tcp"};
  facts.own_name_addresses = {"127.0.1.1"};
  facts.sysctl = {{"net.core.rmem_max", "212992"}};
  facts.nvme = {{"nvme0", "tcp", "traddr=10.0.0.1", "live", "nqn.x"}};
  facts.rdma_firmware = {{"rocep1s0f1", "28.45.4028", "NVD1", {{"link_downed", 3}}}};
  facts.nccl_files = {{"/etc/nccl.conf", {{"NCCL_DEBUG", "INFO"}}}};
  facts.nccl_profile = {{"NCCL_IB_HCA", "x"}};
  facts.fstab = {{"/dev/nvme1n1", "/mnt", "ext4", "defaults"}};
  facts.firewall->forward_chains = {
      {"ip filter FORWARD", {{"enp1s0f1np1", "", "accept", "iifname oifname accept", "enP2p1s0f1np1"}}}};
  facts.containers = {{"nvidia"}, true, {{"/var/run/cdi/nvidia.yaml", "580.95.05"}}, false};
  facts.gpu = GpuFacts{97, 611, 22, 0x20};
  facts.memory_pressure = 0.31;
  facts.shared_memory = SharedMemoryFacts{"tmpfs", std::int64_t{1} << 30, 4096, 2};
  facts.swap = {std::int64_t{1} << 34, std::int64_t{1} << 30};
  facts.software = {{"6.17.0-1031-nvidia"}, true, {"libc6"}, {{"nvidia-driver-580-open", "580.95.05-1", true}}, true};
  facts.unreadable = {{"sshd", "exit 1"}};
  return facts;
}

}  // namespace

TEST_CASE("host facts survive the wire with every field") {
  const auto back = decode<HostFacts>(over_the_wire(encode(some_host_facts())));
  REQUIRE(back);
  CHECK(*back == some_host_facts());
}

TEST_CASE("extended facts survive the wire with every field") {
  const auto back = decode<ExtendedFacts>(over_the_wire(encode(some_extended())));
  REQUIRE(back);
  CHECK(*back == some_extended());
}

TEST_CASE("missing contiguous memory differs from exhausted contiguous memory") {
  HostFacts facts;
  CHECK_FALSE(decode<HostFacts>(encode(facts))->cma_total);
  facts.cma_total = 0;
  CHECK(decode<HostFacts>(encode(facts))->cma_total == 0);
}

TEST_CASE("extended facts are present only if they were requested") {
  Facts facts;
  CHECK_FALSE(decode<Facts>(over_the_wire(encode(facts)))->extended);
  facts.extended = some_extended();
  const auto back = decode<Facts>(over_the_wire(encode(facts)));
  REQUIRE(back);
  CHECK(back->extended == some_extended());
}

TEST_CASE("a link's manager and connection survive the wire") {
  Facts facts;
  facts.links.resize(1);
  facts.links[0].name = "enp1s0f1np1";
  facts.links[0].managed_by = "NetworkManager";
  facts.links[0].profile = "uuid";
  facts.links[0].carrier_changes = 7;
  facts.links[0].pcie = PcieLink{2, 4, "32.0 GT/s PCIe", "32.0 GT/s PCIe"};
  const auto back = decode<Facts>(over_the_wire(encode(facts)));
  REQUIRE(back);
  CHECK(back->links == facts.links);
}

TEST_CASE("a host fact of a wrong kind is refused and named") {
  Value value = encode(some_host_facts());
  item(value, "routes", 0).set("metric", "low");
  check_refused(decode<HostFacts>(value), "routes: 0: metric: expected integer, found text");
}

}  // namespace sparkplan
