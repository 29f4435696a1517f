// States that look like a fault and are none, and faults that only a second fact makes one.
#include "tests/support/catch.h"
#include "tests/unit/doctor/capture.h"
#include "tests/unit/doctor/findings.h"

namespace sparkplan {

using test::change;
using test::file;
using test::finding_of;
using test::findings_of;
using test::listed;
using test::nccl_conf;
using test::Problems;
using test::problems_in;
using test::route;
using test::unit;

TEST_CASE("a machine that took the advice of kho=off has no findings") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"CmaTotal:          65536 kB\nCmaFree:           63488 kB", "CmaTotal: 0 kB\nCmaFree: 0 kB"});
  change(capture, {"uname\n6.17.0-1031-nvidia", "uname\n7.0.0-1019-nvidia"});
  auto with_handover = capture;
  CHECK(problems_in(findings_of(with_handover, test::as_second_node(with_handover), false)) ==
        Problems{{"kernel-handover", CheckStatus::kFail}});
  change(capture, {"root=UUID=1 ro quiet", "root=UUID=1 ro quiet kho=off"});
  const auto findings = findings_of(capture, test::as_second_node(capture), false);
  INFO(listed(findings));
  CHECK(problems_in(findings).empty());
}

TEST_CASE("of Ubuntu's kernels 7.0.0-31 loses contiguous memory and 7.0.0-30 does not") {
  for (const auto& [release, bad] : {std::pair{"7.0.0-31-generic", true}, std::pair{"7.0.0-30-generic", false}}) {
    INFO(release);
    auto capture = test::read_capture("spark.txt");
    change(capture, {"uname\n6.17.0-1031-nvidia", "uname\n" + std::string(release)});
    const auto problems = problems_in(findings_of(capture, test::as_second_node(capture), false));
    CHECK(problems.contains({"kernel-handover", CheckStatus::kFail}) == bad);
  }
}

TEST_CASE("a Spark without a declared fabric needs no cable") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"*DRIVER=mlx5_core", "DRIVER=r8127"});
  test::CapturedNode one = test::captured_node(capture);
  one.declared.clear();
  const auto findings = examine({{one.examined()}, false, 0});
  CHECK(finding_of(findings, "adapter-absent").status == CheckStatus::kSkip);
  CHECK(finding_of(findings, "adapter-absent").seen == "no fabric declared");
}

TEST_CASE("Docker's bridge without containers is no finding") {
  auto capture = test::read_capture("spark.txt");
  change(capture, route(R"({"dst":"172.17.0.0/16","dev":"docker0","flags":["linkdown"]})"));
  change(capture, {"== ip-address\n[",
                   "== ip-address\n[{\"ifname\":\"docker0\",\"flags\":[\"UP\"],\"mtu\":1500,\"linkinfo\":{"
                   "\"info_kind\":\"bridge\"},\"addr_info\":[]},\n"});
  const auto findings = findings_of(capture, test::as_second_node(capture), false);
  INFO(listed(findings));
  CHECK(problems_in(findings).empty());
}

TEST_CASE("Docker's own limit of locked memory is no finding, because each container has its own") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"LimitMEMLOCK=infinity", "LimitMEMLOCK=8388608"});
  const auto findings = findings_of(capture, test::as_second_node(capture), false);
  CHECK(problems_in(findings).empty());
  CHECK(finding_of(findings, "memlock-service").status == CheckStatus::kSkip);
  CHECK(finding_of(findings, "memlock-service").seen ==
        "docker.service has LimitMEMLOCK=8388608: a container with ranks needs --ulimit memlock=-1");
}

TEST_CASE("an earlyoom that spares the ranks is no finding") {
  auto capture = test::read_capture("spark.txt");
  change(capture, unit("earlyoom.service"));
  test::CapturedNode one = test::captured_node(capture);
  one.facts.extended->earlyoom_avoids = "^(python3|vllm)$";
  const auto findings = examine({{one.examined()}, false, 0});
  CHECK(finding_of(findings, "earlyoom-runs").status == CheckStatus::kPass);
  CHECK(finding_of(findings, "earlyoom-runs").seen == "earlyoom avoids ^(python3|vllm)$");
}

TEST_CASE("a unit that only repeats sysctl and netplan switches no half off") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"Id=disable-unused-nics.service", "Id=rdma-optimize.service"});
  change(capture, unit("rdma-optimize.service"));
  CHECK(problems_in(findings_of(capture, test::as_second_node(capture), false)).empty());
}

TEST_CASE("a generated profile is a finding only while the interface lacks its declared address") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"", file("/run/NetworkManager/system-connections/Wired connection 1.nmconnection",
                            "[connection]\nid=Wired connection 1\ntype=ethernet\n[ethernet]\n"
                            "mac-address=4C:BB:47:00:01:05\n[ipv4]\nmethod=auto")});
  test::CapturedNode one = test::captured_node(capture);
  CHECK(finding_of(examine({{one.examined()}, false, 0}), "profile-dhcp").status == CheckStatus::kPass);
  for (LinkFacts& link : one.facts.links) link.addresses.clear();
  CHECK(finding_of(examine({{one.examined()}, false, 0}), "profile-dhcp").status == CheckStatus::kFail);
}

TEST_CASE("a loopback address of the host name does no harm once Gloo has an interface") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"10.0.0.11 spark-01\n", "127.0.1.1 spark-01\n"});
  change(capture, {"", file("/etc/profile.d/gloo.sh", "export GLOO_SOCKET_IFNAME=enp1s0f1np1")});
  CHECK(problems_in(findings_of(capture, test::as_second_node(capture), false)).empty());
}

TEST_CASE("a variable of a framework is judged in login shells and in commands over ssh") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"", file("/etc/environment", "VLLM_HOST_IP=10.0.0.11")});
  test::CapturedNode one = test::captured_node(capture);
  const auto finding = finding_of(examine({{one.examined()}, false, 0}), "framework-elsewhere");
  CHECK(finding.status == CheckStatus::kWarn);
  CHECK(finding.seen ==
        "VLLM_HOST_IP=10.0.0.11 in the environment of login shells, but the fabric needs 192.168.100.11");
  one.declared.clear();
  CHECK(finding_of(examine({{one.examined()}, false, 0}), "framework-elsewhere").status == CheckStatus::kSkip);
}

TEST_CASE("BIOSes are compared among nodes of one manufacturer") {
  const auto capture = test::read_capture("spark.txt");
  const test::CapturedNode one = test::captured_node(capture);
  test::CapturedNode other = test::captured_node(test::as_second_node(capture));
  const auto seen = [&] {
    return finding_of(examine({{one.examined(), other.examined()}, false, 0}), "differs-bios").status;
  };
  other.facts.host.bios_version = "GX10.0103";
  CHECK(seen() == CheckStatus::kWarn);
  other.facts.host.vendor = "ASUSTeK COMPUTER INC.";
  CHECK(seen() == CheckStatus::kPass);
}

TEST_CASE("where cluster.yaml names an NCCL library, the installed release says nothing") {
  const auto capture = test::read_capture("spark.txt");
  test::CapturedNode one = test::captured_node(capture);
  test::CapturedNode other = test::captured_node(test::as_second_node(capture));
  one.facts.nccl_version = "2.20.5";
  auto first = one.examined();
  auto second = other.examined();
  first.own_nccl = second.own_nccl = true;
  const auto findings = examine({{first, second}, false, 0});
  INFO(listed(findings));
  CHECK(problems_in(findings).empty());
  CHECK(finding_of(findings, "nccl-too-old").status == CheckStatus::kSkip);
  CHECK(finding_of(findings, "nccl-mixed-versions").status == CheckStatus::kSkip);
}

TEST_CASE("the carrier of a port beside the fabric does not mean that the fabric's cable is there") {
  Facts facts;
  LinkFacts half;
  half.name = "enp1s0f0np0";
  half.port = "p0";
  half.up = true;
  LinkFacts lan = half;
  lan.name = "enp1s0f1np1";
  lan.port = "p1";
  lan.carrier = true;
  facts.links = {half, lan};
  ObservedPort declared;
  declared.interface = half.name;
  declared.link = &facts.links[0];
  const auto status_with = [&](const std::vector<std::string>& others) {
    return test::finding_of(examine({{{"spark-01", &facts, {declared}, others}}}), "cabled-elsewhere").status;
  };
  CHECK(status_with({}) == CheckStatus::kFail);
  CHECK(status_with({lan.name}) == CheckStatus::kPass);
}

TEST_CASE("a version that a node words as none is not taken for a missing version") {
  Facts first;
  first.product = "NVIDIA DGX Spark";
  Facts second = first;
  first.host.gpu_driver = "none";
  const auto seen = [&] {
    return test::finding_of(examine({{{"n1", &first, {}}, {"n2", &second, {}}}}), "differs-driver");
  };
  CHECK(seen().status == CheckStatus::kFail);
  CHECK(seen().seen == "n1 \"none\"; n2 none");
  second.host.gpu_driver = "580.95.05";
  CHECK(seen().seen == "n2 580.95.05; n1 \"none\"");
  first.host.gpu_driver.clear();
  CHECK(seen().seen == "n2 580.95.05; n1 none");
}

TEST_CASE("an old BIOS that gives the adapter all its lanes is no finding") {
  auto capture = test::read_capture("spark.txt");
  change(capture, {"05/12/2026", "01/15/2026"});
  CHECK(problems_in(findings_of(capture, test::as_second_node(capture), false)).empty());
}

TEST_CASE("a correct GID index set by hand is only a warning") {
  auto capture = test::read_capture("spark.txt");
  change(capture, nccl_conf("NCCL_IB_GID_INDEX=3"));
  const auto findings = findings_of(capture, test::as_second_node(capture), false);
  CHECK(problems_in(findings) == Problems{{"nccl-gid-index-set", CheckStatus::kWarn}});
}

}  // namespace sparkplan
