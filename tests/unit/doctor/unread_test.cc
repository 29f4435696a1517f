// The doctor's report about unread data, and its comparison of nodes.
#include <algorithm>
#include <set>

#include "tests/support/catch.h"
#include "tests/unit/doctor/capture.h"
#include "tests/unit/doctor/findings.h"

namespace sparkplan {
namespace {

using test::CapturedNode;
using test::change;
using test::finding_of;
using test::findings_of;
using test::listed;
using test::Problems;
using test::problems_in;

}  // namespace

TEST_CASE("unread data gives skipped rows with the reason, and no failure") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"== program 0 nft\n", "== program 1 nft\nOperation not permitted\n"});
  const auto findings = findings_of(capture, test::as_second_node(capture), false);
  const Finding& found = finding_of(findings, "firewall-drops");
  CHECK(found.status == CheckStatus::kSkip);
  CHECK(found.seen.starts_with("nft: exit 1: Operation not permitted"));
  CHECK(problems_in(findings).empty());
}

TEST_CASE("two declared link-local halves may share the link-local network") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {R"("local":"192.168.100.11","prefixlen":24)", R"("local":"169.254.17.4","prefixlen":16)"});
  change(capture, {R"("local":"192.168.101.11","prefixlen":24)", R"("local":"169.254.91.7","prefixlen":16)"});
  change(capture, {"ip saddr 192.168.101.0/24", "ip saddr 169.254.0.0/16"});  // The rule is in its firewall.
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  for (CapturedNode* node : {&one, &other}) {
    for (ObservedPort& half : node->declared) {
      half.link_local = true;
      half.address.clear();
    }
  }
  const auto findings = examine({{one.examined(), other.examined()}, false, 0});
  INFO(listed(findings));
  CHECK(problems_in(findings).empty());
  for (ObservedPort& half : one.declared) half.link_local = false;
  CHECK(problems_in(examine({{one.examined(), other.examined()}, false, 0}))
            .contains({"twins-share-network", CheckStatus::kFail}));
}

TEST_CASE("a half with an address and a link-local one is judged by its address") {
  auto capture = test::read_capture("spark.txt");
  const std::string declared = R"({"family":"inet","local":"192.168.100.11","prefixlen":24})";
  const std::string random = R"({"family":"inet","local":"169.254.17.4","prefixlen":16})";
  const auto status_with = [&](const std::string& addresses) {
    auto changed = capture;
    change(changed, {declared, addresses});
    CapturedNode one = test::captured_node(changed);
    one.declared.front().link_local = true;
    const auto findings = examine({{one.examined()}, false, 0});
    CHECK(test::finding_of(findings, "address-extra").status == CheckStatus::kPass);
    return test::finding_of(findings, "link-no-address").status;
  };
  CHECK(status_with(random + "," + declared) == CheckStatus::kPass);
  CHECK(status_with(random) == CheckStatus::kFail);
}

TEST_CASE("merged routes skip the row route-elsewhere, unless another route decides it") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  const CapturedNode other = test::captured_node(test::as_second_node(capture));
  const auto seen = [&] {
    return finding_of(examine({{one.examined(), other.examined()}, false, 0}), "route-elsewhere");
  };
  auto& routes = one.facts.host.routes;
  routes.push_back({"bgp0", "10.0.0.0/8", "", 0, "", false, 254, 5000});
  CHECK(seen().status == CheckStatus::kPass);
  routes.push_back({"bgp0", "192.168.0.0/16", "", 0, "", false, 254, 300});
  CHECK(seen().status == CheckStatus::kSkip);
  CHECK(seen().seen.starts_with(
      "300 routes to parts of 192.168.0.0/16 go through bgp0, not enp1s0f1np1: too many to list"));
  routes.push_back({"tun0", "192.168.100.0/25", "", 0, "static", false, 254});
  CHECK(seen().status == CheckStatus::kFail);
  CHECK(seen().seen == "192.168.100.0/25 goes through tun0, not enp1s0f1np1");
}

namespace {

using RowsByField = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// The rows that a field decides, of HostFacts and of ExtendedFacts.
const RowsByField kOfHost{
    {"bios_date", {"bios-old"}},
    {"gpu_driver",
     {"driver-old", "differs-driver", "nccl-no-gpu", "driver-unsupported", "cdi-stale", "reboot-pending"}},
    {"kernel_command_line", {"kernel-handover", "kernel-next-bad"}},
    {"memory_available_bytes", {"contiguous-memory-lost", "memory-short"}},
    {"routes", {"route-default", "route-elsewhere", "route-link-down"}},
    {"network_profiles", {"profile-dhcp"}},
    {"netplan_files", {"netplan-mode", "netplan-refuses"}},
    {"bios_version", {"bios-old", "differs-bios"}},
    {"nvme_host_nqn", {"shared-host-nqn"}},
    {"host_keys", {"shared-host-key"}}};
const RowsByField kOfExtended{
    {"netplan_merged", {"netplan-refuses"}},
    {"firewall", {"firewall-drops", "forward-drops"}},
    {"units",
     {"earlyoom-runs", "half-switched-off", "memlock-service", "docker-group", "container-runtime-missing",
      "gpu-clock-capped"}},
    {"containers.may_use_docker", {"docker-group"}},
    {"containers.toolkit", {"container-runtime-missing"}},
    {"containers.runtimes", {"container-runtime-missing"}},
    {"containers.cdi_specs", {"container-runtime-missing", "cdi-stale"}},
    {"gpu", {"gpu-clock-stuck", "gpu-throttled"}},
    {"memory_pressure", {"memory-pressure"}},
    {"swap", {"swap-used"}},
    {"shared_memory", {"shm-small", "shm-full"}},
    {"software.kernels", {"kernel-next-bad", "reboot-pending"}},
    {"software.reboot_required", {"reboot-pending"}},
    {"software.packages", {"reboot-pending", "holds-missing", "driver-packages-mixed"}},
    {"software.upgrades_itself", {"holds-missing"}},
    {"clock_synchronised", {"clock-not-synchronised"}},
    {"removes_ipc", {"logins-end-jobs"}},
    {"login.linger", {"logins-end-jobs"}},
    {"sshd", {"sshd-without-pam"}},
    {"fstab", {"fstab-unstable-device", "fstab-without-nofail"}},
    {"nvme", {"nvme-not-live"}},
    {"sysctl", {"rp-filter-strict", "forward-drops"}},
    {"rdma_firmware", {"rdma-errors", "differs-firmware"}},
    {"login.locked_memory", {"memlock-login"}},
    {"modules_at_boot", {"peermem-at-boot"}},
    {"nccl_files", {"nccl-half-left-out", "nccl-gid-index-set", "nccl-without-rdma", "nccl-login-shells-only"}},
    {"login.environment", {"nccl-half-left-out", "nccl-preloaded", "nccl-unknown-variable"}},
    {"own_name_addresses", {"host-name-loopback"}},
    {"nccl_profile", {"nccl-login-shells-only", "gloo-interface-absent", "framework-elsewhere"}}};

}  // namespace

TEST_CASE("a row whose data is unread names the reason and gives no verdict") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  const CapturedNode other = test::captured_node(test::as_second_node(capture));
  const auto expect_skips = [&](const std::string& field, const std::vector<std::string>& rows) {
    const auto findings = examine({{one.examined(), other.examined()}, false, 0});
    for (const std::string& row : rows) {
      INFO(field << " of " << row);
      const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.row->id == row && finding.nodes.front() == "spark-01";
      });
      REQUIRE(found != findings.end());
      CHECK(found->status == CheckStatus::kSkip);
      CHECK(found->seen == (found->between_nodes ? "spark-01: no permission" : "no permission"));
    }
  };
  for (const auto& [field, rows] : kOfHost) {
    one.facts.host.unreadable = {{field, "no permission"}};
    expect_skips(field, rows);
  }
  one.facts.host.unreadable.clear();
  for (const auto& [field, rows] : kOfExtended) {
    one.facts.extended->unreadable = {{field, "no permission"}};
    expect_skips(field, rows);
  }
}

TEST_CASE("readable nodes are compared even if another node is unreadable") {
  const auto capture = test::read_capture("spark.txt");
  const CapturedNode one = test::captured_node(capture);
  const CapturedNode other = test::captured_node(test::as_second_node(capture));
  CapturedNode unread = test::captured_node(test::as_second_node(capture));
  unread.name = unread.facts.hostname = "spark-03";
  unread.facts.machine_id = "of-the-third";
  unread.facts.host.unreadable = {{"nvme_host_nqn", "no permission"}, {"host_keys", "no permission"}};
  CapturedNode copy = other;
  copy.facts.host.nvme_host_nqn = one.facts.host.nvme_host_nqn;
  const auto nqn_of = [&](const CapturedNode& second) {
    return finding_of(examine({{one.examined(), second.examined(), unread.examined()}, false, 0}), "shared-host-nqn");
  };
  CHECK(nqn_of(copy).status == CheckStatus::kFail);
  CHECK(nqn_of(copy).seen.starts_with("spark-[01-02] have nqn."));
  CHECK(nqn_of(other).status == CheckStatus::kSkip);
  CHECK(nqn_of(other).seen == "spark-03: no permission");
}

TEST_CASE("a single shared host key of any type is a finding") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  one.facts.host.host_keys = {{"ecdsa-sha2-nistp256", "SHA256:a"}, {"ssh-ed25519", "SHA256:b"}};
  other.facts.host.host_keys = {{"ecdsa-sha2-nistp256", "SHA256:a"}, {"ssh-ed25519", "SHA256:c"}};
  const auto key_of = [&] {
    return finding_of(examine({{one.examined(), other.examined()}, false, 0}), "shared-host-key");
  };
  CHECK(key_of().status == CheckStatus::kFail);
  CHECK(key_of().seen == "spark-[01-02] have SHA256:a");
  other.facts.host.host_keys.front().fingerprint = "SHA256:d";
  CHECK(key_of().status == CheckStatus::kPass);
}

TEST_CASE("a command over SSH is limited by its soft memlock limit, whatever its hard limit is") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  const CapturedNode other = test::captured_node(test::as_second_node(capture));
  one.facts.extended->login.locked_memory_soft = "8388608";
  one.facts.extended->login.locked_memory_hard = "unlimited";
  const auto findings = examine({{one.examined(), other.examined()}, false, 0});
  CHECK(problems_in(findings) == Problems{{"memlock-login", CheckStatus::kFail}});
  CHECK(finding_of(findings, "memlock-login").seen ==
        "a command over ssh may lock 8388608 bytes; its hard limit is unlimited");
}

TEST_CASE("a missing driver or NCCL is a difference, and missing firmware makes the comparison skip") {
  const auto capture = test::read_capture("spark.txt");
  const CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  other.facts.host.gpu_driver.clear();
  other.facts.nccl_version.clear();
  other.facts.extended->rdma_firmware.clear();
  const auto findings = examine({{one.examined(), other.examined()}, false, 0});
  CHECK(problems_in(findings) == Problems{{"differs-driver", CheckStatus::kFail},
                                          {"nccl-mixed-versions", CheckStatus::kFail},
                                          {"nccl-no-gpu", CheckStatus::kFail},
                                          {"nccl-no-library", CheckStatus::kFail}});
  for (const Finding& finding : findings) {
    if (finding.row == "differs-driver") CHECK(finding.seen == "spark-01 580.173.02; spark-02 none");
    if (finding.row == "differs-firmware") {
      CHECK(finding.status == CheckStatus::kSkip);
      CHECK(finding.seen.starts_with("spark-02 none; spark-01 "));
    }
  }
}

TEST_CASE("two installed releases of NCCL differ from a node's single release") {
  const auto capture = test::read_capture("spark.txt");
  const CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  other.facts.nccl_version = "2.28.9 and 2.30.7";
  CHECK(problems_in(examine({{one.examined(), other.examined()}, false, 0})) ==
        Problems{{"nccl-mixed-versions", CheckStatus::kFail}});
}

TEST_CASE("where two releases of NCCL are installed, rows about the release are skipped") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  one.facts.nccl_version = "2.20.5 and 2.28.9";
  other.facts.nccl_version = "2.20.5 and 2.28.9";
  const auto findings = examine({{one.examined(), other.examined()}, true, 4});
  CHECK(problems_in(findings).empty());
  for (const std::string row : {"nccl-too-old", "nccl-version-hang", "nccl-version-ring", "nccl-mixed-versions"}) {
    const Finding& found = finding_of(findings, row);
    CHECK(found.status == CheckStatus::kSkip);
    CHECK(found.seen.ends_with("in use is unknown: 2.20.5 and 2.28.9"));
  }
}

TEST_CASE("a machine that is no Spark has no failure") {
  Facts facts;
  facts.extended.emplace();
  facts.hostname = "box";
  const auto findings = examine({{{"box", &facts, {}}}, false, 0});
  INFO(listed(findings));
  CHECK(problems_in(findings).empty());
}

TEST_CASE("an image is examined by its files only") {
  Facts facts;
  facts.live = false;
  facts.extended.emplace();
  facts.extended->fstab = {{"/dev/nvme1n1", "/mnt", "ext4", "defaults"}};
  const auto findings = examine({{{"image", &facts, {}}}, false, 0});
  CHECK(problems_in(findings) == Problems{{"fstab-unstable-device", CheckStatus::kWarn}});
}

}  // namespace sparkplan
