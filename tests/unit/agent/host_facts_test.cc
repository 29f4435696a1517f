// Host facts from a node's files: machine, interfaces, network renderer.
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/facts/node_text.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

using test::FakeNode;

constexpr const char* kProfiles = "/etc/NetworkManager/system-connections/";
constexpr const char* kMade = "/run/NetworkManager/system-connections/";

HostFacts host_facts_of(const FakeNode& node) {
  HostFacts facts;
  read_machine(node, facts);
  read_network_configuration(node, facts);
  return facts;
}

LinkFacts link_of(const FakeNode& node, const std::string& pci = "") {
  std::vector<LinkFacts> links(1);
  links[0].name = "enp1s0f1np1";
  links[0].pci = pci;
  read_link_details(node, links);
  return links[0];
}

}  // namespace

TEST_CASE("DMI, memory, kernel and driver of a machine are read") {
  FakeNode node;
  node.add_file("/sys/class/dmi/id/sys_vendor", "ASUSTeK COMPUTER INC.\n");
  node.add_file("/sys/class/dmi/id/bios_date", "04/02/2026\n");
  node.add_file("/proc/meminfo",
                "MemTotal:  125829120 kB\nMemAvailable: 1048576 kB\nCmaTotal:  65536 kB\nCmaFree:  0 kB\n");
  node.add_file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet kho=off\n");
  node.add_file(
      "/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build\nGCC version: 13\n");
  const auto facts = host_facts_of(node);
  CHECK(facts.vendor == "ASUSTeK COMPUTER INC.");
  CHECK(facts.bios_date == "2026-04-02");
  CHECK(facts.memory_available == std::int64_t{1} << 30);
  CHECK(facts.cma_total == std::int64_t{64} << 20);
  CHECK(facts.cma_free == 0);
  CHECK(facts.kernel_command_line == "BOOT_IMAGE=/vmlinuz quiet kho=off");
  CHECK(facts.gpu_driver == "580.95.05");
  CHECK(facts.unreadable.empty());
}

TEST_CASE("missing hardware gives empty facts and no error") {
  const auto facts = host_facts_of(FakeNode());
  CHECK(facts.gpu_driver.empty());
  CHECK_FALSE(facts.cma_total);
  CHECK(facts.nvme_host_nqn.empty());
  CHECK(facts.network_profiles.empty());
  CHECK(facts.renderers.empty());
}

TEST_CASE("unreadable facts are listed by name") {
  FakeNode node;
  node.add_kernel_file("/proc/cmdline", {"", {}, {}, ErrorCode::kPermissionDenied});
  const auto facts = host_facts_of(node);
  CHECK(facts.kernel_command_line.empty());
  CHECK(facts.unreadable.count("kernel_command_line") == 1);
}

TEST_CASE("facts of an image come only from its files") {
  FakeNode node;
  node.set_live(false);
  node.add_file("/etc/nvme/hostnqn", "nqn.2014-08.org.nvmexpress:uuid:1\n");
  node.add_file("/proc/cmdline", "of the machine that looks at the image\n");
  node.add_directory("/run/NetworkManager/devices");
  const auto facts = host_facts_of(node);
  CHECK(facts.nvme_host_nqn == "nqn.2014-08.org.nvmexpress:uuid:1");
  CHECK(facts.kernel_command_line.empty());
  CHECK(facts.renderers.empty());
}

// Line and fingerprint belong to a key from ssh-keygen, as `ssh-keygen -lf` shows it.
TEST_CASE("fingerprints of host keys match those of ssh-keygen") {
  CHECK(host_key_in("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPsATe8vD0pz3WkKgv+d5xZXDFPOt/43M7+0pgXls1Ti root@x")
            .fingerprint == "SHA256:FAD7lJcOfP9yJuARGFDDP+6bmtA2d0kshuqChbSx4gI");
  CHECK(host_key_in("ssh-ed25519 not+base64=").fingerprint.empty());
  CHECK(host_key_in("").fingerprint.empty());
}

TEST_CASE("a DMI date is converted to a comparable form") {
  CHECK(iso_date("04/02/2026") == "2026-04-02");
  CHECK(iso_date("unknown") == "unknown");
  CHECK(iso_date("").empty());
}

TEST_CASE("a NetworkManager profile is read without its secrets") {
  const auto profile =
      network_profile_in(std::string(kProfiles) + "fabric.nmconnection",
                         "[connection]\nid=fabric\nuuid=u-1\ntype=802-3-ethernet\n"
                         "interface-name=enp1s0f1np1\nautoconnect=false\n\n[802-3-ethernet]\n"
                         "mac-address=52:54:00:AA:00:01\n[ipv4]\nmethod=auto\n[wifi-security]\npsk=x\n");
  CHECK(profile.id == "fabric");
  CHECK(profile.uuid == "u-1");
  CHECK(profile.type == "ethernet");
  CHECK(profile.interface == "enp1s0f1np1");
  CHECK(profile.mac == "52:54:00:aa:00:01");
  CHECK(profile.method == "auto");
  CHECK_FALSE(profile.autoconnect);
  CHECK(profile.origin == ProfileOrigin::kHandWritten);
}

TEST_CASE("a profile's directory and name reveal its origin") {
  const std::string text = "[connection]\nid=x\n";
  CHECK(network_profile_in(std::string(kMade) + "netplan-enp1.nmconnection", text).origin == ProfileOrigin::kNetplan);
  CHECK(network_profile_in(std::string(kMade) + "Wired connection 1.nmconnection", text).origin ==
        ProfileOrigin::kGenerated);
  CHECK(network_profile_in(std::string(kProfiles) + "Wired connection 1.nmconnection", text).origin ==
        ProfileOrigin::kHandWritten);
}

TEST_CASE("networkd and NetworkManager report the interfaces that they manage") {
  FakeNode node;
  node.add_file("/sys/class/net/enp1s0f1np1/ifindex", "5\n");
  CHECK(link_of(node).managed_by.empty());
  node.add_file("/run/systemd/netif/links/5", "ADMIN_STATE=unmanaged\nOPER_STATE=carrier\n");
  CHECK(link_of(node).managed_by.empty());
  node.add_file("/run/systemd/netif/links/5", "# private data\nADMIN_STATE=configured\nOPER_STATE=routable\n");
  CHECK(link_of(node).managed_by == "networkd");
  node.add_file("/run/systemd/netif/links/5", "ADMIN_STATE=unmanaged\n");
  node.add_file("/run/NetworkManager/devices/5", "[device]\nmanaged=true\nconnection-uuid=u-1\n");
  CHECK(link_of(node).managed_by == "NetworkManager");
  CHECK(link_of(node).profile == "u-1");
}

TEST_CASE("an interface's carrier changes and its PCIe link are read") {
  FakeNode node;
  const std::string directory = "/sys/class/net/enp1s0f1np1/";
  node.add_file(directory + "carrier_changes", "7\n");
  node.add_file(directory + "device/current_link_width", "2\n");
  node.add_file(directory + "device/max_link_width", "4\n");
  node.add_file(directory + "device/current_link_speed", "32.0 GT/s PCIe\n");
  node.add_file(directory + "device/max_link_speed", "Unknown\n");
  CHECK(link_of(node).carrier_changes == 7);
  CHECK_FALSE(link_of(node).pcie);
  CHECK(link_of(node, "0000:01:00.1").pcie == PcieLink{2, 4, "32.0 GT/s PCIe", ""});
}

TEST_CASE("netplan's files are listed as netplan reads them, without hidden ones") {
  FakeNode node;
  node.add_file("/usr/lib/netplan/00-vendor.yaml", "", 0600);
  node.add_file("/etc/netplan/50-cloud-init.yaml", "", 0644);
  node.add_file("/etc/netplan/README", "");
  node.add_file("/run/netplan/50-cloud-init.yaml", "", 0600);
  const auto files = host_facts_of(node).netplan_files;
  REQUIRE(files.size() == 2);
  CHECK(files[0] == NetplanFileFacts{"/usr/lib/netplan/00-vendor.yaml", 0600});
  CHECK(files[1] == NetplanFileFacts{"/run/netplan/50-cloud-init.yaml", 0600});
}

TEST_CASE("an assignment in a shell file is parsed") {
  using Assignment = std::pair<std::string, std::string>;
  CHECK(assignment_in("export NCCL_IB_HCA='=rocep1s0f1'") == Assignment{"NCCL_IB_HCA", "=rocep1s0f1"});
  CHECK(assignment_in("  A=\"b c\"  ") == Assignment{"A", "b c"});
  CHECK_FALSE(assignment_in("# A=b"));
  CHECK_FALSE(assignment_in("if [ \"$A\" = b ]; then"));
  CHECK_FALSE(assignment_in("echo hello"));
}

}  // namespace sparkplan
