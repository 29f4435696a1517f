// Each row of the doctor's table that nodes can show: two healthy machines, and one change that only that row detects.
#include <algorithm>
#include <set>

#include "engine/doctor/doctor_table.h"
#include "tests/support/catch.h"
#include "tests/unit/doctor/capture.h"
#include "tests/unit/doctor/findings.h"

namespace sparkplan {
namespace {

using test::change;
using test::Edit;
using test::file;
using test::findings_of;
using test::listed;
using test::nccl_conf;
using test::Problems;
using test::problems_in;
using test::route;
using test::unit;

enum class On : std::uint8_t { kBoth, kFirst, kSecond };

struct Mutation {
  std::string row;
  CheckStatus status = CheckStatus::kFail;
  std::vector<Edit> edits;
  On on = On::kBoth;
  bool ring = false;
  void (*alter)(ExtendedFacts&) = nullptr;  ///< For facts that no text of a capture can show.
};

const std::string kLinkA = R"("ifname":"enp1s0f1np1","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":9000)";
const std::string kLinkB = R"("ifname":"enP2p1s0f1np1","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":9000)";
const std::string kNetA = "/sys/class/net/enp1s0f1np1/";
const std::string kNetB = "/sys/class/net/enP2p1s0f1np1/";
const std::string kHcaB = "/sys/class/infiniband/roceP2p1s0f1/ports/1/";

Edit link_a(const std::string& to) { return {kLinkA, to}; }
Edit file_is(const std::string& path, const std::string& from, const std::string& to) {
  return {"== file " + path + "\n" + from + "\n", "== file " + path + "\n" + to + "\n"};
}
Edit nccl_release(const std::string& release) { return {"libnccl.so.2.30.7", "libnccl.so." + release}; }

std::vector<Mutation> link_mutations() {
  const std::string no_carrier = R"("flags":["BROADCAST","MULTICAST","UP"])";
  return {
      {"adapter-absent", CheckStatus::kFail, {{"*DRIVER=mlx5_core", "DRIVER=r8127"}}},
      {"link-absent", CheckStatus::kFail, {{"\"ifname\":\"enP2p1s0f1np1\"", "\"ifname\":\"usb0\""}}},
      {"link-down",
       CheckStatus::kFail,
       {{kLinkB, R"("ifname":"enP2p1s0f1np1","flags":["BROADCAST","MULTICAST"],"mtu":9000)"}}},
      {"link-no-carrier",
       CheckStatus::kFail,
       {{kLinkB, R"("ifname":"enP2p1s0f1np1",)" + no_carrier + R"(,"mtu":9000)"}}},
      {"cabled-elsewhere",
       CheckStatus::kFail,
       {link_a(R"("ifname":"enp1s0f1np1",)" + no_carrier + R"(,"mtu":9000)"),
        {kLinkB, R"("ifname":"enP2p1s0f1np1",)" + no_carrier + R"(,"mtu":9000)"},
        {R"("ifname":"enp1s0f0np0","flags":["BROADCAST","MULTICAST","UP"])",
         R"("ifname":"enp1s0f0np0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"])"}}},
      {"link-member", CheckStatus::kFail, {link_a(kLinkA + R"(,"master":"br0")")}},
      {"bond-stale",
       CheckStatus::kWarn,
       {{"== ip-address\n[",
         "== ip-address\n[{\"ifname\":\"bond0\",\"flags\":[\"UP\"],\"mtu\":1500,\"linkinfo\":{"
         "\"info_kind\":\"bond\"},\"addr_info\":[]},\n"}}},
      {"link-mtu", CheckStatus::kFail, {link_a(R"("ifname":"enp1s0f1np1","flags":["UP","LOWER_UP"],"mtu":1500)")}},
      {"link-no-address",
       CheckStatus::kFail,
       {{R"("addr_info":[{"family":"inet","local":"192.168.101.11","prefixlen":24}])", R"("addr_info":[])"}}},
      {"address-extra",
       CheckStatus::kWarn,
       {{R"({"family":"inet","local":"192.168.100.11","prefixlen":24})",
         R"({"local":"192.168.100.11","prefixlen":24},{"local":"10.0.200.1","prefixlen":24})"}}},
      {"link-slow", CheckStatus::kFail, {file_is(kNetA + "speed", "200000", "100000")}},
      {"pcie-narrow", CheckStatus::kFail, {file_is(kNetB + "device/current_link_width", "4", "2")}},
      {"pcie-slow",
       CheckStatus::kWarn,
       {file_is(kNetB + "device/current_link_speed", "32.0 GT/s PCIe", "16.0 GT/s PCIe")}},
      {"link-flapping", CheckStatus::kWarn, {file_is(kNetA + "carrier_changes", "2", "57")}},
  };
}

std::vector<Mutation> network_mutations() {
  return {
      // The file declares both addresses, and was applied.
      {"twins-share-network",
       CheckStatus::kFail,
       {{"*192.168.101.11", "192.168.100.111"}, {"*192.168.101.0", "192.168.100.0"}, {"*c0a8:650b", "c0a8:646f"}},
       On::kFirst},
      {"profile-dhcp",
       CheckStatus::kFail,
       {{"", file("/etc/NetworkManager/system-connections/office.nmconnection",
                  "[connection]\nid=office\ntype=ethernet\n[ethernet]\nmac-address=4C:BB:47:00:01:05\n"
                  "[ipv4]\nmethod=auto")}},
       On::kFirst},
      {"netplan-mode",
       CheckStatus::kWarn,
       {{"== file /etc/netplan/60-sparkplan-fabric.yaml 0600", "== file /etc/netplan/60-sparkplan-fabric.yaml 0644"}}},
      {"netplan-refuses",
       CheckStatus::kFail,
       {{"== program 0 netplan\nnetwork:", "== program 1 netplan\n/etc/netplan/90-NM-1.yaml:3:5: Error in network:"}}},
      {"route-default",
       CheckStatus::kFail,
       {route(R"({"dst":"default","gateway":"192.168.100.1","dev":"enp1s0f1np1"})")}},
      {"route-elsewhere", CheckStatus::kFail, {route(R"({"dst":"192.168.101.0/25","dev":"enP7s7"})")}},
      {"route-link-down", CheckStatus::kWarn, {route(R"({"dst":"172.16.0.0/30","dev":"bond7","flags":["linkdown"]})")}},
      {"firewall-drops",
       CheckStatus::kFail,
       {{"\t\tip saddr 192.168.101.0/24 counter packets 0 bytes 0 accept\n", ""}}},
      {"rp-filter-strict",
       CheckStatus::kWarn,
       {file_is("/proc/sys/net/ipv4/conf/all/rp_filter", "2", "0"),
        file_is("/proc/sys/net/ipv4/conf/enp1s0f1np1/rp_filter", "2", "1")}},
  };
}

std::vector<Mutation> rdma_mutations() {
  return {
      {"rdma-no-device",
       CheckStatus::kFail,
       {{"*== file /sys/class/infiniband/roceP2p1s0f1/", "== file /sys/class/infiniband/mlx5_9/"}}},
      {"rdma-port-down", CheckStatus::kFail, {file_is(kHcaB + "state", "4: ACTIVE", "1: DOWN")}},
      {"rdma-no-gid", CheckStatus::kFail, {file_is(kHcaB + "gid_attrs/types/3", "RoCE v2", "IB/RoCE v1")}},
      {"rdma-mtu-small",
       CheckStatus::kWarn,
       {{"roceP2p1s0f1\n\t\t\tactive_mtu:\t\t4096 (5)", "roceP2p1s0f1\n\t\t\tactive_mtu:\t\t1024 (3)"}}},
      {"rdma-errors", CheckStatus::kWarn, {file_is(kHcaB + "counters/symbol_error", "0", "5210")}},
      {"memlock-login",
       CheckStatus::kFail,
       {{"Max locked memory         unlimited            unlimited", "Max locked memory         8388608   8388608"}}},
      {"memlock-service",
       CheckStatus::kWarn,
       {{"Id=docker.service", "Id=slurmd.service"}, {"LimitMEMLOCK=infinity", "LimitMEMLOCK=8388608"}}},
      {"peermem-at-boot", CheckStatus::kWarn, {{"", file("/etc/modules-load.d/rdma.conf", "nvidia-peermem")}}},
  };
}

std::vector<Mutation> nccl_mutations() {
  const std::string both = "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1";
  return {
      {"nccl-no-gpu", CheckStatus::kFail, {{"== file /proc/driver/nvidia/version", "== file /proc/driver/unloaded"}}},
      {"nccl-no-library", CheckStatus::kFail, {{"*libnccl.so.2", "libother.so.2"}}},
      {"nccl-too-old", CheckStatus::kFail, {nccl_release("2.20.5")}},
      {"nccl-version-hang", CheckStatus::kWarn, {nccl_release("2.28.9")}},
      {"nccl-version-ring", CheckStatus::kWarn, {nccl_release("2.29.7")}, On::kBoth, true},
      {"nccl-mixed-versions", CheckStatus::kFail, {nccl_release("2.30.4")}, On::kSecond},
      {"nccl-half-left-out", CheckStatus::kFail, {{both, "NCCL_IB_HCA==rocep1s0f1"}}},
      {"nccl-gid-index-set", CheckStatus::kFail, {nccl_conf("NCCL_IB_GID_INDEX=5")}},
      {"nccl-without-rdma", CheckStatus::kWarn, {nccl_conf("NCCL_NET=Socket")}},
      {"nccl-interface-absent", CheckStatus::kFail, {{"NCCL_SOCKET_IFNAME==enP7s7", "NCCL_SOCKET_IFNAME==wlP9s9"}}},
      {"nccl-unknown-variable", CheckStatus::kWarn, {nccl_conf("NCCL_MERGE_LEVEL=LOC")}},
      {"nccl-no-effect", CheckStatus::kWarn, {nccl_conf("NCCL_NET_GDR_LEVEL=SYS")}},
      {"nccl-login-shells-only",
       CheckStatus::kWarn,
       {{"", file("/etc/profile.d/nccl-env.sh", "export NCCL_DEBUG=INFO")}}},
      {"nccl-preloaded",
       CheckStatus::kWarn,
       {{"USER=nvidia\nHOME=", "USER=nvidia\nLD_PRELOAD=/opt/nccl/libnccl.so.2\nHOME="}}},
      {"nccl-ring-without-cumem", CheckStatus::kFail, {nccl_conf("NCCL_CUMEM_ENABLE=0")}, On::kBoth, true},
      {"gloo-interface-absent",
       CheckStatus::kFail,
       {{"", file("/etc/profile.d/gloo.sh", "export GLOO_SOCKET_IFNAME=^lo,docker0")}}},
      {"framework-elsewhere",
       CheckStatus::kWarn,
       {{"USER=nvidia\nHOME=", "USER=nvidia\nGLOO_SOCKET_IFNAME=enP7s7\nHOME="}}},
      {"host-name-loopback", CheckStatus::kWarn, {{"10.0.0.11 spark-01\n", "127.0.1.1 spark-01\n"}}},
  };
}

std::vector<Mutation> machine_mutations() {
  return {
      {"bios-old",
       CheckStatus::kWarn,
       {{"05/12/2026", "01/15/2026"},
        {"== file /sys/class/net/enP2p1s0f1np1/device/current_link_width", "== file /sys/class/net/lo/unread"}}},
      {"driver-old", CheckStatus::kWarn, {{"*580.173.02", "580.95.05"}}},
      {"kernel-handover", CheckStatus::kFail, {{"uname\n6.17.0-1031-nvidia", "uname\n7.0.0-1019-nvidia"}}},
      {"contiguous-memory-lost",
       CheckStatus::kFail,
       {{"CmaTotal:          65536 kB\nCmaFree:           63488 kB",
         "CmaTotal:          65536 kB\nCmaFree:          131072 kB"}}},
      {"memory-short", CheckStatus::kWarn, {{"MemAvailable:   117440512 kB", "MemAvailable:     2097152 kB"}}},
      {"earlyoom-runs", CheckStatus::kWarn, {unit("earlyoom.service")}},
      {"logins-end-jobs", CheckStatus::kWarn, {{"busctl\nb false", "busctl\nb true"}}},
      {"half-switched-off", CheckStatus::kFail, {unit("disable-unused-nics.service")}},
      {"clock-not-synchronised", CheckStatus::kWarn, {{"timedatectl\nyes", "timedatectl\nno"}}},
      {"sshd-without-pam", CheckStatus::kWarn, {{"usepam yes", "usepam no"}}},
      {"fstab-unstable-device", CheckStatus::kWarn, {{"/dev/disk/by-id/nvme-models_1_1 /mnt", "/dev/nvme1n1 /mnt"}}},
      {"fstab-without-nofail", CheckStatus::kWarn, {{"_netdev,nofail", "_netdev"}}},
      {"nvme-not-live", CheckStatus::kFail, {file_is("/sys/class/nvme/nvme1/state", "live", "connecting")}},
  };
}

std::vector<Mutation> container_mutations() {
  return {
      {"docker-group", CheckStatus::kWarn, {{"docker:x:988:nvidia", "docker:x:988:ubuntu"}}},
      {"container-runtime-missing",
       CheckStatus::kWarn,
       {{R"({"nvidia": {"args")", R"({"kata": {"args")"}, {"/var/run/cdi/nvidia.yaml", "/var/run/cdi/nvidia.bak"}}},
      {"cdi-stale", CheckStatus::kFail, {{"*libcuda.so.580.173.02", "libcuda.so.580.95.05"}}},
      {"hostname-differs", CheckStatus::kWarn, {{"*hostname\nspark-01", "hostname\nspark-01-2"}}, On::kFirst},
      {"memory-pressure", CheckStatus::kWarn, {{"full avg10=0.00", "full avg10=0.31"}}},
      {"memory-pressure", CheckStatus::kFail, {{"full avg10=0.00", "full avg10=12.40"}}},
      {"swap-used", CheckStatus::kWarn, {{"16777212\t1024", "16777212\t13631488"}}},
      {"shm-small", CheckStatus::kWarn, {{"rw,nosuid,nodev,inode64", "rw,nosuid,nodev,size=65536k"}}},
      {"shm-small", CheckStatus::kWarn, {{"tmpfs /dev/shm tmpfs", "tmpfs /dev/mem tmpfs"}}},
      {"shm-full",
       CheckStatus::kWarn,
       {},
       On::kBoth,
       false,
       [](ExtendedFacts& facts) { facts.shared_memory->used = std::int64_t{5} << 30; }},
      {"gpu-clock-stuck", CheckStatus::kFail, {{"96, 2418, 88.31", "97, 611, 22.40"}}},
      {"gpu-throttled", CheckStatus::kWarn, {{"88.31, 0x0000000000000000", "88.31, 0x0000000000000020"}}},
      {"gpu-clock-capped", CheckStatus::kWarn, {unit("gb10-clock-cap.service")}},
      {"forward-drops",
       CheckStatus::kFail,
       {route(R"({"dst":"10.9.0.0/24","gateway":"192.168.100.12","dev":"enp1s0f1np1"})"),
        {"", file("/proc/sys/net/ipv4/ip_forward", "0")}}},
      {"forward-drops",
       CheckStatus::kFail,
       {route(R"({"dst":"10.9.0.0/24","gateway":"192.168.100.12","dev":"enp1s0f1np1"})"),
        {"\tchain INPUT {",
         "\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n"
         "\t\tiifname \"docker0\" accept\n\t}\n\tchain INPUT {"},
        {"", file("/proc/sys/net/ipv4/ip_forward", "1")}}},
  };
}

std::vector<Mutation> software_mutations() {
  return {
      {"kernel-loses-adapter", CheckStatus::kFail, {{"*6.17.0-1031-nvidia", "6.17.0-1029-nvidia"}}},
      {"kernel-next-bad", CheckStatus::kWarn, {{"", file("/boot/vmlinuz-7.0.0-1019-nvidia", "")}}},
      {"reboot-pending", CheckStatus::kWarn, {{"", file("/boot/vmlinuz-6.17.0-1032-nvidia", "")}}},
      {"reboot-pending",
       CheckStatus::kWarn,
       {{"", file("/var/run/reboot-required", "*** System restart required ***")},
        {"", file("/var/run/reboot-required.pkgs", "libc6\nlibc6")}}},
      {"reboot-pending", CheckStatus::kWarn, {{"*580.173.02-0ubuntu1", "580.178.04-0ubuntu1"}}},
      {"holds-missing",
       CheckStatus::kWarn,
       {{"Package: nvidia-driver-580-open\nStatus: hold", "Package: nvidia-driver-580-open\nStatus: install"}}},
      {"holds-missing", CheckStatus::kWarn, {{"*Status: hold", "Status: install"}}},
      {"driver-unsupported", CheckStatus::kFail, {{"*580.173.02", "590.44.01"}}},
      {"driver-packages-mixed",
       CheckStatus::kFail,
       {{"Package: nvidia-firmware-580\nStatus: hold ok installed\nVersion: 580.173.02",
         "Package: nvidia-firmware-580\nStatus: hold ok installed\nVersion: 580.159.03"}}},
      {"driver-packages-mixed",
       CheckStatus::kFail,
       {{"Version: 1.22.6ubuntu6\n",
         "Version: 1.22.6ubuntu6\n\nPackage: nvidia-fabricmanager-580\nStatus: install ok installed\nVersion: 1\n"}}},
  };
}

std::vector<Mutation> parity_mutations() {
  return {
      {"differs-kernel",
       CheckStatus::kWarn,
       {{"uname\n6.17.0-1031", "uname\n6.17.0-1030"},
        {"file /boot/vmlinuz-6.17.0-1031", "file /boot/vmlinuz-6.17.0-1030"}},
       On::kSecond},
      {"differs-system", CheckStatus::kWarn, {{"VERSION_ID=\"24.04\"", "VERSION_ID=\"26.04\""}}, On::kSecond},
      {"differs-driver", CheckStatus::kFail, {{"*580.173.02", "580.180.01"}}, On::kSecond},
      {"differs-firmware", CheckStatus::kWarn, {{"*28.45.4028", "28.44.1036"}}, On::kSecond},
      {"differs-bios", CheckStatus::kWarn, {{"5.36_0ACUM023", "5.36_0ACUM022"}}, On::kSecond},
      {"differs-memory", CheckStatus::kFail, {{"MemTotal:       125513540", "MemTotal:       60817408"}}, On::kSecond},
      {"differs-user", CheckStatus::kWarn, {{"Uid:\t1000\t1000", "Uid:\t1001\t1001"}}, On::kSecond},
      {"differs-management-interface", CheckStatus::kWarn, {{"*enP7s7", "wlP9s9"}}, On::kSecond},
      {"differs-mtu", CheckStatus::kFail, {{"*9000", "4200"}}, On::kSecond},
      {"shared-host-nqn",
       CheckStatus::kFail,
       {{"uuid:00000000-0000-0000-0000-000000000002", "uuid:00000000-0000-0000-0000-000000000001"}},
       On::kSecond},
      {"shared-machine-id", CheckStatus::kFail, {{"cdef0123456789abc002", "cdef0123456789abc001"}}, On::kSecond},
      {"shared-host-key", CheckStatus::kFail, {{"*AgICAgIC", "AQEBAQEB"}}, On::kSecond},
  };
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (const auto& part : {link_mutations(), network_mutations(), rdma_mutations(), nccl_mutations(),
                           machine_mutations(), container_mutations(), software_mutations(), parity_mutations()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("two healthy DGX Sparks have no findings") {
  const auto capture = test::read_capture("spark.txt");
  REQUIRE_FALSE(capture.empty());
  for (const bool ring : {false, true}) {
    const auto findings = findings_of(capture, test::as_second_node(capture), ring);
    INFO(listed(findings));
    CHECK(problems_in(findings).empty());
    // Every property of a pair of Sparks was checked.
    std::set<std::string_view> skipped;
    for (const Finding& one : findings) {
      if (one.status == CheckStatus::kSkip) skipped.insert(one.row->id);
    }
    CHECK(skipped == (ring ? std::set<std::string_view>{}
                           : std::set<std::string_view>{"nccl-ring-without-cumem", "nccl-version-ring"}));
  }
}

TEST_CASE("each change of a healthy machine is reported by its own row and no other") {
  const auto healthy = test::read_capture("spark.txt");
  for (const Mutation& mutation : all_mutations()) {
    INFO(mutation.row);
    std::string first = healthy;
    std::string second = test::as_second_node(healthy);
    for (const Edit& edit : mutation.edits) {
      if (mutation.on == On::kBoth) change(first, edit);
      if (mutation.on == On::kFirst) change(first, edit);
      if (mutation.on == On::kSecond) change(second, edit);
    }
    if (mutation.on == On::kBoth) second = test::as_second_node(first);
    test::CapturedNode one = test::captured_node(first);
    test::CapturedNode other = test::captured_node(second);
    if (mutation.alter != nullptr) mutation.alter(*one.facts.extended);
    constexpr std::size_t kRing = 4;
    const auto findings = examine({{one.examined(), other.examined()}, mutation.ring, mutation.ring ? kRing : 0});
    INFO(listed(findings));
    CHECK(problems_in(findings) == Problems{{mutation.row, mutation.status}});
  }
}

TEST_CASE("every examined row has a change that it reports, and the table marks it as examined") {
  std::set<std::string_view> examined;
  for (const auto row : examined_rows()) {
    INFO(row->id);
    CHECK(examined.insert(row->id).second);
    CHECK(row->where.find("doctor") != std::string_view::npos);
    const auto mutations = all_mutations();
    CHECK(std::any_of(mutations.begin(), mutations.end(), [&](const auto& one) { return one.row == row->id; }));
  }
  for (const DoctorRow& row : kDoctorTable) {
    INFO(row.id);
    const bool reported = row.where.find("doctor") != std::string_view::npos;
    CHECK(reported == (examined.count(row.id) == 1));
  }
}

}  // namespace sparkplan
