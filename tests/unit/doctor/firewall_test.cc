// The fabric packets that a node's packet filter accepts, by the verdicts of its chains.
#include <chrono>

#include "engine/doctor/examinations.h"
#include "tests/support/catch.h"
#include "tests/unit/doctor/capture.h"
#include "tests/unit/doctor/findings.h"

namespace sparkplan {
namespace {

using test::CapturedNode;

using Verdicts = std::vector<InputVerdictFacts>;

const InputVerdictFacts kClosed{"", "", "drop", "policy drop"};

InputVerdictFacts accept(const std::string& interface, const std::string& from = "") {
  return {interface, from, "accept", "a rule"};
}
InputVerdictFacts drop(const std::string& interface, const std::string& from = "") {
  return {interface, from, "drop", "a rule"};
}
InputVerdictFacts unclear(const std::string& interface, const std::string& from = "") {
  return {interface, from, "unclear", "xt match"};
}

/// The doctor's finding for the first of two Sparks, with these chains. Its halves are enp1s0f1np1 with 192.168.100.11
/// and enP2p1s0f1np1 with 192.168.101.11; the other node has .12.
Finding found_with(const std::vector<Verdicts>& chains, bool link_local = false) {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  FirewallFacts firewall;
  for (const Verdicts& verdicts : chains) firewall.input_chains.push_back({"ip filter INPUT", verdicts});
  one.facts.extended->firewall = firewall;
  for (CapturedNode* node : {&one, &other}) {
    for (ObservedPort& half : node->declared) {
      half.link_local = link_local;
      if (link_local) half.address.clear();
    }
  }
  return test::finding_of(examine({{one.examined(), other.examined()}, false, 0}), "firewall-drops");
}

CheckStatus verdict_with(const Verdicts& verdicts) { return found_with({verdicts}).status; }

}  // namespace

TEST_CASE("doctor: a node with thousands of texts has findings of bounded length") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  for (int i = 0; i < 4000; ++i) {
    const std::string release = std::to_string(i) + std::string(200, '.');
    one.facts.extended->software.packages.push_back({"nvidia-driver-" + release, release, false});
  }
  const auto findings = examine({{one.examined(), other.examined()}, false, 0});
  CHECK(test::finding_of(findings, "driver-packages-mixed").status == CheckStatus::kFail);
  for (const Finding& finding : findings) {
    INFO(finding.row->id);
    if (!finding.between_nodes) CHECK(finding.seen.size() <= 1500);
  }
}

TEST_CASE("doctor: a node with thousands of addresses costs less than five seconds") {
  CapturedNode one = test::captured_node(test::read_capture("spark.txt"));
  for (LinkFacts& link : one.facts.links) {
    for (int i = 0; i < 40'000; ++i) {
      link.addresses.push_back("10.9." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1) + "/32");
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(examine({{one.examined()}, false, 0}).empty());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("doctor: complaints of one row have a bounded length") {
  Complaints complaints;
  for (int i = 0; i < 1000; ++i) complaints.add(std::string(1000, 'x'));
  const Verdict verdict = complaints.as(CheckStatus::kFail);
  CHECK(verdict.seen.size() < 70'000);
  CHECK(verdict.seen.ends_with("; ..."));
}

TEST_CASE("doctor: a row that compares nodes cuts the value of each node") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  for (int i = 0; i < 200; ++i) {
    RdmaFirmwareFacts device;
    device.firmware = std::to_string(i) + std::string(200, '.');
    one.facts.extended->rdma_firmware.push_back(device);
  }
  const auto findings = examine({{one.examined(), other.examined()}, false, 0});
  const Finding& finding = test::finding_of(findings, "differs-firmware");
  CHECK(finding.status == CheckStatus::kWarn);
  CHECK(finding.seen.size() < 1000);
}

TEST_CASE("doctor: the finding about a node that forwards nothing names the node that reports the route") {
  const auto capture = test::read_capture("spark.txt");
  CapturedNode one = test::captured_node(capture);
  CapturedNode other = test::captured_node(test::as_second_node(capture));
  RouteFacts claimed;
  claimed.destination = "10.9.0.0/24";
  claimed.gateway = "192.168.100.11";
  claimed.interface = "enp1s0f1np1";
  other.facts.host.routes.push_back(claimed);
  const std::string who = other.examined().name + " reports routes through this node; ";
  one.facts.extended->sysctl["net.ipv4.ip_forward"] = "0";
  const auto forwards_nothing = examine({{one.examined(), other.examined()}, false, 0});
  CHECK(test::finding_of(forwards_nothing, "forward-drops").seen == who + "net.ipv4.ip_forward is 0");
  one.facts.extended->sysctl["net.ipv4.ip_forward"] = "1";
  one.facts.extended->firewall.emplace().forward_chains.push_back({"ip filter FORWARD", {kClosed}});
  const auto drops = examine({{one.examined(), other.examined()}, false, 0});
  CHECK(test::finding_of(drops, "forward-drops").seen.starts_with(who + "ip filter FORWARD (policy drop) drops"));
}

TEST_CASE("firewall: packets without a matching rule are accepted, and a closed chain accepts none") {
  CHECK(verdict_with({}) == CheckStatus::kPass);
  const Finding closed = found_with({{kClosed}});
  CHECK(closed.status == CheckStatus::kFail);
  CHECK(closed.seen ==
        "ip filter INPUT (policy drop) drops incoming traffic of enp1s0f1np1; ip filter INPUT (policy drop) drops "
        "incoming traffic of enP2p1s0f1np1");
}

TEST_CASE("firewall: the first matching verdict wins, by interface, by network and by both") {
  CHECK(verdict_with({accept("enp1s0f1np1"), accept("enP2p1s0f1np1"), kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({accept("en*"), kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({accept("", "192.168.100.0/23"), kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({accept("enp1s0f1np1", "192.168.100.0/24"), accept("enP2p1s0f1np1", "192.168.101.0/24"),
                      kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({accept("", "0.0.0.0/0"), kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({accept("enP2p1s0f1np1", "192.168.100.0/24"), accept("enP7s7"), accept("", "10.0.0.0/8"),
                      kClosed}) == CheckStatus::kFail);
  CHECK(verdict_with({drop("enp1s0f1np1"), accept("en*")}) == CheckStatus::kFail);
  CHECK(verdict_with({accept("", "192.168.100.0/24"), drop("enp1s0f1np1")}) == CheckStatus::kPass);
  CHECK(verdict_with({drop("docker0"), drop("", "10.9.0.0/16")}) == CheckStatus::kPass);
}

TEST_CASE("firewall: a rule for a part of the network gives no verdict") {
  CHECK(verdict_with({accept("", "192.168.100.12"), accept("", "192.168.101.12"), kClosed}) == CheckStatus::kSkip);
  CHECK(verdict_with({drop("", "192.168.100.12")}) == CheckStatus::kSkip);
  CHECK(verdict_with({drop("", "192.168.102.12")}) == CheckStatus::kPass);
}

TEST_CASE("firewall: all chains must accept the fabric") {
  CHECK(found_with({{accept("en*"), kClosed}, {}}).status == CheckStatus::kPass);
  CHECK(found_with({{accept("en*"), kClosed}, {kClosed}}).status == CheckStatus::kFail);
}

TEST_CASE("firewall: an unclear rule gives no verdict, unless an earlier rule accepts or all else is dropped") {
  const Finding open = found_with({{unclear(""), kClosed}});
  CHECK(open.status == CheckStatus::kSkip);
  CHECK(open.seen.starts_with("ip filter INPUT (xt match) may drop incoming traffic of enp1s0f1np1; "));
  CHECK(open.seen.ends_with("; `sparkplan verify --level tcp` measures it"));
  CHECK(verdict_with({accept("en*"), unclear(""), kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({unclear("docker0"), unclear("", "10.0.0.0/8"), accept("en*"), kClosed}) == CheckStatus::kPass);
  CHECK(verdict_with({unclear("enp1s0f1np1"), kClosed}) == CheckStatus::kFail);  // The other half is certainly closed.
}

TEST_CASE("firewall: with link-local addresses only, the chains must accept the link-local network") {
  CHECK(found_with({{accept("", "169.254.0.0/16"), kClosed}}, true).status == CheckStatus::kPass);
  CHECK(found_with({{accept("", "192.168.0.0/16"), kClosed}}, true).status == CheckStatus::kFail);
}

}  // namespace sparkplan
