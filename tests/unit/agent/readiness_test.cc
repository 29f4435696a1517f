// Facts about containers, memory in use, the GPU and installed software, from the texts of a node.
#include "engine/agent/facts/extended_facts.h"

#include <limits>

#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

using test::FakeNode;
using Names = std::vector<std::string>;

ExtendedFacts containers_of(const FakeNode& node, const std::string& user = "nvidia") {
  ExtendedFacts facts;
  facts.login.user = user;
  read_containers(node, facts);
  return facts;
}

ExtendedFacts software_of(const FakeNode& node) {
  ExtendedFacts facts;
  read_software(node, facts);
  return facts;
}

FakeNode node_with_accounts(const std::string& groups) {
  FakeNode node;
  node.add_file("/etc/passwd", "nvidia:x:1000:1000::/home/nvidia:/bin/bash\n");
  node.add_file("/etc/group", groups);
  return node;
}

}  // namespace

TEST_CASE("readiness: an empty node has no containers, no GPU and no known software, and nothing is unreadable") {
  const FakeNode node = node_with_accounts("docker:x:988:\n");
  CHECK(containers_of(node).unreadable.empty());
  CHECK(containers_of(node).containers.toolkit == false);
  CHECK_FALSE(containers_of(node).gpu);
  const auto facts = software_of(FakeNode());
  CHECK(facts.unreadable.empty());
  CHECK_FALSE(facts.memory_pressure);
  CHECK_FALSE(facts.shared_memory);
  CHECK(facts.swap == SwapFacts{});
  CHECK(facts.software == SoftwareFacts{});
}

TEST_CASE("readiness: a user is in the group docker by name or by the primary group") {
  CHECK(containers_of(node_with_accounts("docker:x:988:alice,nvidia\n")).containers.may_use_docker == true);
  CHECK(containers_of(node_with_accounts("docker:x:1000:\n")).containers.may_use_docker == true);
  CHECK(containers_of(node_with_accounts("docker:x:988:alice,nvidia2\n")).containers.may_use_docker == false);
  CHECK_FALSE(containers_of(node_with_accounts("docker:x:988:\n"), "root").containers.may_use_docker);
  FakeNode without = node_with_accounts("nvidia:x:1000:\n");
  without.script("getent group -- docker", {2, "", ""});
  CHECK_FALSE(containers_of(without).containers.may_use_docker);
  CHECK(containers_of(without).unreadable.empty());
  without.script("getent group -- docker", {1, "", ""});
  CHECK(containers_of(without).unreadable.contains("containers.may_use_docker"));
}

TEST_CASE("readiness: a daemon.json that is no JSON is unreadable, and one without runtimes has none") {
  FakeNode node = node_with_accounts("docker:x:988:\n");
  node.add_file("/etc/docker/daemon.json", R"({"runtimes": {"nvidia": {}, "kata": {}}})");
  CHECK(containers_of(node).containers.runtimes == Names{"nvidia", "kata"});
  node.add_file("/etc/docker/daemon.json", R"({"runtimes": 7})");
  CHECK(containers_of(node).containers.runtimes.empty());
  CHECK(containers_of(node).unreadable.empty());
  node.add_file("/etc/docker/daemon.json", "{");
  CHECK(containers_of(node).unreadable.contains("containers.runtimes"));
}

TEST_CASE("readiness: a CDI specification has the release of its library, and other vendors are left out") {
  FakeNode node = node_with_accounts("docker:x:988:\n");
  node.add_file("/etc/cdi/amd.yaml", "kind: amd.com/gpu\n");
  node.add_file("/etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\nhostPath: /lib/libcuda.so.1\n");
  node.add_file("/var/run/cdi/nvidia.json", R"({"kind": "nvidia.com/gpu", "path": "/lib/libcuda.so.580.95.05"})");
  CHECK(containers_of(node).containers.cdi_specs ==
        std::vector<CdiSpecFacts>{{"/etc/cdi/nvidia.yaml", ""}, {"/var/run/cdi/nvidia.json", "580.95.05"}});
}

TEST_CASE("readiness: the GPU's fields that nvidia-smi does not know have no value") {
  FakeNode node = node_with_accounts("docker:x:988:\n");
  node.add_file("/proc/driver/nvidia/version", "");
  std::string printed = "97, 611, [N/A], 0x0000000000000020\n";
  node.add_program("nvidia-smi", [&](const FakeNode::Call&) { return CommandOutput{0, printed, ""}; });
  CHECK(containers_of(node).gpu == GpuFacts{97, 611, std::nullopt, 0x20});
  printed = "No devices were found\n";
  CHECK_FALSE(containers_of(node).gpu);
  CHECK(containers_of(node).unreadable.contains("gpu"));
}

TEST_CASE("readiness: pressure, swap and shared memory are read, each line by its own form") {
  FakeNode node;
  node.add_file("/proc/pressure/memory", "some avg10=5.00 avg60=0.00\nfull avg10=0.31 avg60=0.00 total=1\n");
  node.add_file("/proc/swaps", "Filename Type Size Used Priority\n/a file 1000 10 -2\n/b partition 2000 20 -3\n");
  node.add_file("/proc/mounts", "tmpfs /dev/shm tmpfs rw,size=65536k 0 0\n");
  node.add_file("/dev/shm/psm_1", "12345");
  node.add_file("/dev/shm/below/psm_2", "1");
  const auto facts = software_of(node);
  CHECK(facts.memory_pressure == 0.31);
  CHECK(facts.swap == SwapFacts{3000 * 1024, 30 * 1024});
  CHECK(facts.shared_memory == SharedMemoryFacts{"tmpfs", std::int64_t{64} << 20, 5, 1});
}

TEST_CASE("readiness: a user who makes sparse files of any size in /dev/shm does not have the facts refused") {
  ExtendedFacts facts;
  facts.shared_memory.emplace();
  for (int i = 0; i < 3; ++i) count_shared_file(std::numeric_limits<std::int64_t>::max(), *facts.shared_memory);
  count_shared_file(5, *facts.shared_memory);
  CHECK(facts.shared_memory->files == 4);
  CHECK(decode<ExtendedFacts>(encode(facts)));
}

TEST_CASE("readiness: kernels, holds and automatic upgrades are those of dpkg, apt and /boot") {
  FakeNode node;
  node.add_file("/boot/vmlinuz-6.17.0-1031-nvidia", "");
  node.add_file("/boot/vmlinuz.old", "");
  node.add_file("/boot/initrd.img-6.17.0-1031-nvidia", "");
  node.add_file("/var/run/reboot-required", "");
  node.add_file("/var/run/reboot-required.pkgs", "libc6\nlibc6\nlinux-base\n");
  node.add_file("/etc/apt/apt.conf.d/20auto-upgrades", "APT::Periodic::Unattended-Upgrade \"1\";\n");
  node.add_file("/etc/apt/apt.conf.d/99local", "APT::Periodic::Unattended-Upgrade \"0\";\n");
  node.add_file("/var/lib/dpkg/status",
                "Package: nvidia-driver-580-open\nStatus: hold ok installed\nVersion: 580.95.05-1\n\n"
                "Package: nvidia-firmware-570\nStatus: deinstall ok config-files\nVersion: 570\n\n"
                "Package: curl\nStatus: hold ok installed\nVersion: 8\n\n"
                "Package: linux-nvidia-hwe-24.04\nStatus: install ok installed\nVersion: 6.17\n");
  const auto software = software_of(node).software;
  CHECK(software.kernels == Names{"6.17.0-1031-nvidia"});
  CHECK(software.reboot_required);
  CHECK(software.reboot_for == Names{"libc6", "linux-base"});
  CHECK(software.upgrades_itself == false);
  CHECK(software.packages == std::vector<PackageFacts>{{"linux-nvidia-hwe-24.04", "6.17", false},
                                                       {"nvidia-driver-580-open", "580.95.05-1", true}});
}

}  // namespace sparkplan
