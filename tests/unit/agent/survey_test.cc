// Extended facts: each reader on the texts of a node.
#include <algorithm>

#include "engine/agent/facts/extended_facts.h"
#include "engine/core/json.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

using test::FakeNode;
using Names = std::vector<std::string>;

ExtendedFacts files_of(const FakeNode& node, const std::vector<LinkFacts>& links = {}) {
  ExtendedFacts facts;
  read_files(node, links, facts);
  return facts;
}

ExtendedFacts programs_of(const FakeNode& node) {
  ExtendedFacts facts;
  read_programs(node, facts);
  return facts;
}

}  // namespace

TEST_CASE("the settings of sshd, clock, netplan and units are read") {
  FakeNode node;
  node.add_file("/etc/netplan/50.yaml", "network: {version: 2}\n");
  node.script("sshd -T", {0, "port 22\nusepam no\nallowusers a\nallowusers b\nciphers x\n", ""});
  node.script("timedatectl show --property=NTPSynchronized --value", {0, "no\n", ""});
  node.script(
      "busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager RemoveIPC",
      {0, "b true\n", ""});
  node.script("netplan get", {1, "", "/etc/netplan/50.yaml:1:2: Invalid YAML:\n  password: hunter2\n  ^\n"});
  node.set_unit_reader([](const FakeNode&, const std::string& name) -> Result<UnitProperties> {
    if (name != "docker.service") return UnitProperties{{"Id", name}, {"LoadState", "not-found"}};
    return UnitProperties{{"LimitMEMLOCK", "8388608"},
                          {"Id", name},
                          {"LoadState", "loaded"},
                          {"ActiveState", "active"},
                          {"UnitFileState", "enabled"}};
  });
  const auto facts = programs_of(node);
  CHECK(facts.sshd.at("usepam") == "no");
  CHECK(facts.sshd.at("allowusers") == "a b");
  CHECK(facts.sshd.count("ciphers") == 0);
  CHECK(facts.clock_synchronised == false);
  CHECK(facts.removes_ipc == true);
  CHECK(facts.netplan_error == "netplan: exit 1: /etc/netplan/50.yaml:1:2: Invalid YAML:");
  CHECK(facts.netplan_merged.empty());
  CHECK(facts.unreadable.empty());
  CHECK(facts.units == std::vector<UnitFacts>{{"docker.service", "active", "enabled", "8388608"}});
}

TEST_CASE("the programs that a running earlyoom spares are read from its command line") {
  FakeNode node;
  node.set_unit_reader([](const FakeNode&, const std::string& name) -> Result<UnitProperties> {
    if (name != "earlyoom.service") return UnitProperties{{"Id", name}, {"LoadState", "not-found"}};
    return UnitProperties{{"Id", name}, {"LoadState", "loaded"}, {"ActiveState", "active"}, {"MainPID", "4711"}};
  });
  using namespace std::string_literals;
  CHECK(programs_of(node).earlyoom_avoids.empty());
  node.add_file("/proc/4711/cmdline", "/usr/bin/earlyoom\0-m\0002\0--avoid\0^(python3|vllm)$\0"s);
  CHECK(programs_of(node).earlyoom_avoids == "^(python3|vllm)$");
  node.add_file("/proc/4711/cmdline", "/usr/bin/earlyoom\0--avoid=^sshd$\0"s);
  CHECK(programs_of(node).earlyoom_avoids == "^sshd$");
}

TEST_CASE("a kernel parameter that cannot be read is listed as unreadable, and the others are read") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/net/core/rmem_max", {"", {}, {}, ErrorCode::kPermissionDenied});
  node.add_kernel_file("/proc/sys/net/core/wmem_max", {"212992", {}, {}, {}});
  const auto facts = files_of(node);
  CHECK(facts.unreadable.count("sysctl") == 1);
  CHECK(facts.sysctl.at("net.core.wmem_max") == "212992");
  CHECK(facts.sysctl.count("net.core.rmem_max") == 0);
}

TEST_CASE("passwords in netplan's configuration and in fstab stay on the node") {
  FakeNode node;
  node.add_file("/etc/netplan/50.yaml", "network: {version: 2}\n");
  node.script("netplan get",
              {0,
               "network:\n  wifis:\n    wlP9s9:\n      access-points:\n        \"home\":\n          password: "
               "\"hunter2\"\n  ethernets:\n    eth0:\n      mtu: 9000\n      auth: {password: hunter2}\n  tunnels:\n"
               "    wg0:\n      keys:\n      - hunter2\n      mode: wireguard\n",
               ""});
  node.add_file("/etc/fstab",
                "//nas/a /a cifs user=bob,password=hunter2,nofail 0 0\n"
                "//nas/b /b cifs pass=hunter2,,hunter2,_netdev 0 0\n"
                "//nas/c /c cifs credentials=/root/hunter2,ro 0 0\n"
                "curlftpfs#bob:hunter2@host /d fuse rw 0 0\n"
                "user@10.0.0.1:/e /e fuse.sshfs rw 0 0\n");
  ExtendedFacts facts;
  read_programs(node, facts);
  read_files(node, {}, facts);
  CHECK(facts.netplan_merged ==
        "network:\n  wifis:\n    wlP9s9:\n      access-points: ...\n  ethernets:\n    eth0:\n      mtu: 9000\n"
        "      auth: ...\n  tunnels:\n    wg0:\n      keys: ...\n      mode: wireguard\n");
  CHECK(encode_json(encode(facts)).find("hunter2") == std::string::npos);
  REQUIRE(facts.fstab.size() == 5);
  CHECK(facts.fstab[0].options == "user=bob,password=...,nofail");
  CHECK(facts.fstab[1].options == "pass=...,_netdev");
  CHECK(facts.fstab[2].options == "credentials=...,ro");
  CHECK(facts.fstab[3].device == "curlftpfs#bob:...@host");
  CHECK(facts.fstab[4].device == "user@10.0.0.1:/e");
}

TEST_CASE("a netplan that does not answer is unreadable, not a refusal") {
  FakeNode node;
  node.add_file("/etc/netplan/50.yaml", "network: {version: 2}\n");
  node.add_program("netplan", [](const FakeNode::Call&) -> Result<CommandOutput> {
    return failure(ErrorCode::kUnreachable, "netplan did not end");
  });
  const auto facts = programs_of(node);
  CHECK(facts.netplan_merged.empty());
  CHECK(facts.netplan_error.empty());
  CHECK(facts.unreadable.count("netplan_merged") == 1);
}

TEST_CASE("missing programs leave their facts empty") {
  const auto facts = programs_of(FakeNode());
  CHECK(facts.sshd.empty());
  CHECK_FALSE(facts.clock_synchronised);
  CHECK(facts.netplan_error.empty());
  CHECK(facts.unreadable.empty());
}

TEST_CASE("NCCL's files, shell files, fstab, modules, NVMe and firmware are read") {
  FakeNode node;
  node.add_file("/etc/nccl.conf", "# by hand\nNCCL_IB_HCA==rocep1s0f1\nNCCL_DEBUG= WARN\n");
  node.add_file("/etc/profile.d/nccl-env.sh", "export NCCL_IB_HCA=rocep1s0f1\nexport EDITOR=vi\n");
  node.add_file("/etc/fstab", "# x\nUUID=1\t/\text4\tdefaults 0 1\n/dev/nvme1n1 /mnt ext4 defaults 0 2\n");
  node.add_file("/proc/modules", "mlx5_core 1 1 - Live 0x0\nsnd 1 0 - Live 0x0\n");
  node.add_file("/etc/modules-load.d/rdma.conf", "# c\nnvidia-peermem\n");
  node.add_file("/proc/sys/net/core/rmem_max", "212992\n");
  node.add_file("/sys/class/nvme/nvme0/transport", "tcp\n");
  node.add_file("/sys/class/nvme/nvme0/state", "live\n");
  node.add_file("/sys/class/infiniband/rocep1s0f1/fw_ver", "28.45.4028\n");
  node.add_file("/sys/class/infiniband/rocep1s0f1/ports/1/counters/link_downed", "3\n");
  const auto facts = files_of(node);
  REQUIRE(facts.nccl_files.size() == 1);
  CHECK(facts.nccl_files[0].variables.at("NCCL_IB_HCA") == "=rocep1s0f1");
  CHECK(facts.nccl_files[0].variables.at("NCCL_DEBUG") == " WARN");
  CHECK(facts.nccl_profile == std::map<std::string, std::string>{{"NCCL_IB_HCA", "rocep1s0f1"}});
  CHECK(facts.fstab.size() == 2);
  CHECK(facts.fstab[1] == FstabFacts{"/dev/nvme1n1", "/mnt", "ext4", "defaults"});
  CHECK(facts.kernel_modules == Names{"mlx5_core"});
  CHECK(facts.modules_at_boot == Names{"nvidia-peermem"});
  CHECK(facts.sysctl.at("net.core.rmem_max") == "212992");
  CHECK(facts.nvme == std::vector<NvmeControllerFacts>{{"nvme0", "tcp", "", "live", ""}});
  CHECK(facts.rdma_firmware == std::vector<RdmaFirmwareFacts>{{"rocep1s0f1", "28.45.4028", "", {{"link_downed", 3}}}});
}

TEST_CASE("the node's own name is looked up in /etc/hosts, and variables of launchers are read without their secrets") {
  FakeNode node;
  node.add_file("/proc/sys/kernel/hostname", "spark-01\n");
  node.add_file(
      "/etc/hosts",
      "127.0.0.1 localhost\n127.0.1.1\tspark-01.lan spark-01 # installer\n#10.0.0.9 spark-01\n10.0.0.1 spark-012\n"
      "10.0.0.2 spark-01\n");
  node.add_file("/etc/environment", "VLLM_HOST_IP=10.0.0.11\nVLLM_API_KEY=secret\nGLOO_SOCKET_IFNAME=eth0\n");
  const auto facts = files_of(node);
  CHECK(facts.own_name_addresses == Names{"127.0.1.1", "10.0.0.2"});
  CHECK(facts.nccl_profile ==
        std::map<std::string, std::string>{{"GLOO_SOCKET_IFNAME", "eth0"}, {"VLLM_HOST_IP", "10.0.0.11"}});
  FakeNode without;
  without.add_file("/proc/sys/kernel/hostname", "spark-01\n");
  CHECK(files_of(without).own_name_addresses.empty());
  CHECK_FALSE(files_of(without).unreadable.contains("own_name_addresses"));
}

TEST_CASE("a login over SSH gives its limits, environment, user and sudo rights") {
  FakeNode node;
  node.add_file("/proc/77/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n"
                "Max locked memory         8388608              unlimited            bytes\n");
  node.add_file("/proc/77/environ", std::string("USER=nvidia\0NCCL_DEBUG=INFO\0SECRET=x\0", 37));
  node.add_file("/proc/77/status", "Name:\tbash\nUid:\t1000\t1000\t1000\t1000\n");
  node.add_file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/bash\n");
  node.add_file("/home/nvidia/.nccl.conf", "NCCL_NET=Socket\n");
  node.script("sudo -n -l -U nvidia", {0, "User nvidia may run:\n    (ALL : ALL) NOPASSWD: ALL\n", ""});
  ExtendedFacts facts;
  read_login(node, "/proc/77", facts);
  CHECK(facts.login.user == "nvidia");
  CHECK(facts.login.uid == 1000);
  CHECK(facts.login.locked_memory_soft == "8388608");
  CHECK(facts.login.locked_memory_hard == "unlimited");
  CHECK(facts.login.environment == std::map<std::string, std::string>{{"NCCL_DEBUG", "INFO"}});
  CHECK(facts.login.sudo_without_password == true);
  CHECK(facts.nccl_files == std::vector<NcclFileFacts>{{"/home/nvidia/.nccl.conf", {{"NCCL_NET", "Socket"}}}});
}

TEST_CASE("a home whose server is silent leaves its file out of the facts, with the server as the reason") {
  FakeNode node;
  node.add_file("/proc/77/environ", std::string("USER=nvidia\0", 12));
  node.add_file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/bash\n");
  node.add_file("/proc/self/mountinfo",
                "22 1 259:2 / / rw shared:1 - ext4 /dev/nvme0n1p2 rw\n"
                "31 22 0:50 / /home rw shared:9 - nfs4 10.0.0.11:/home rw\n");
  node.set_silent("/home");
  ExtendedFacts facts;
  read_login(node, "/proc/77", facts);
  CHECK(facts.login.user == "nvidia");
  CHECK(facts.unreadable["nccl_files"].find("nfs4 10.0.0.11:/home") != std::string::npos);
}

}  // namespace sparkplan
