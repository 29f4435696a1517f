#include "engine/verify/levels/levels.h"

#include <functional>

#include "tests/support/catch.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

using testing::SampleContext;

/// The check for half A of the first of two nodes, after `damage`.
Check check_after(const std::function<void(SampleContext&)>& damage) {
  SampleContext two(2);
  damage(two);
  auto context = two.context();
  const auto checks = verify_links(context);
  REQUIRE(checks.size() == 4);
  for (std::size_t i = 1; i < checks.size(); ++i) CHECK(checks[i].status == CheckStatus::kPass);
  CHECK(checks[0].id == "link/spark-01/A");
  return checks[0];
}

void check_fails(const std::function<void(SampleContext&)>& damage, const std::string& cause) {
  const auto check = check_after(damage);
  INFO(check.cause);
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.cause.find(cause) != std::string::npos);
  CHECK_FALSE(check.fix.empty());
}

}  // namespace

TEST_CASE("halves that match the file pass") {
  const auto check = check_after([](SampleContext&) {});
  CHECK(check.status == CheckStatus::kPass);
  CHECK(check.text == "enp1s0f1np1 up, MTU 9000");
}

TEST_CASE("each possible fault of a half is named") {
  check_fails([](auto& s) { s.link(0, 0).up = false; }, "enp1s0f1np1 is down");
  check_fails([](auto& s) { s.link(0, 0).carrier = false; }, "enp1s0f1np1 has no carrier");
  check_fails([](auto& s) { s.link(0, 0).master = "bond0"; }, "enp1s0f1np1 belongs to bond0");
  check_fails([](auto& s) { s.link(0, 0).mtu = 1500; }, "an MTU of 1500 instead of 9000");
  check_fails([](auto& s) { s.link(0, 0).addresses = {"192.168.100.11/16"}; }, "does not have 192.168.100.11/24");
  check_fails(
      [](auto& s) {
        s.cluster.nodes[0].fabric[0].link_local = true;
        s.cluster.nodes[0].fabric[0].address.clear();
      },
      "link-local");
}

TEST_CASE("a declared address that is missing beside a link-local one is named") {
  check_fails(
      [](auto& s) {
        s.cluster.nodes[0].fabric[0].link_local = true;
        s.link(0, 0).addresses = {"169.254.7.1/16"};
      },
      "does not have 192.168.100.11/24");
}

TEST_CASE("a carrier on the other port is a hint at a wrongly plugged cable") {
  check_fails(
      [](auto& s) {
        s.link(0, 0).carrier = false;
        LinkFacts other = s.link(0, 0);
        other.name = "enp1s0f0np0";
        other.port = "p0";
        other.carrier = true;
        s.facts[0].links.push_back(other);
      },
      "while enp1s0f0np0 has one");
}

TEST_CASE("a powered-off port of a Spark is not reported as a wrong name") {
  const auto off = [](SampleContext& s) {
    s.facts[0].product = "NVIDIA_DGX_Spark";
    s.facts[0].links.erase(s.facts[0].links.begin());
  };
  check_fails(off, "no cable in that port, or the ConnectX-7 is powered off");
}

TEST_CASE("a missing interface is reported as missing") {
  check_fails([](auto& s) { s.link(0, 0).name = "eth7"; }, "there is no interface enp1s0f1np1 on this node");
}

TEST_CASE("nodes without anything to check are skipped with the reason") {
  SampleContext three(3);
  three.cluster.nodes[0].fabric.clear();
  three.facts[1].live = false;
  three.reachable = {true, true, false};
  auto context = three.context();
  const auto checks = verify_links(context);
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].cause == "no fabric declared");
  CHECK(checks[1].cause == "the node is not a running system");
  CHECK(checks[2].cause == "the node is not connected");
}

}  // namespace sparkplan
