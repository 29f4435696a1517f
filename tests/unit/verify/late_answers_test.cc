// Nodes that answer late. Each node has its own clock, which its answers move on: no case waits.
#include <algorithm>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "engine/resource/registry.h"
#include "engine/verify/levels/levels.h"
#include "engine/verify/levels/rdma_pair.h"
#include "tests/support/catch.h"
#include "tests/unit/verify/late_fleet.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::LateFleet;

/// Just below the deadline of a request.
constexpr milliseconds kJustInTime{59'000};
constexpr const char* kReason = "spark-03 answered too late too often; this run does not ask it again";

bool has(const Check& check, const std::string& node) {
  return std::find(check.nodes.begin(), check.nodes.end(), node) != check.nodes.end();
}

}  // namespace

TEST_CASE("verify: a node that answers just before each deadline is left out, and the others are measured") {
  const Level level = GENERATE(Level::kMtu, Level::kTcp);
  LateFleet fleet(6, level);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  run_levels(context);
  const std::string id = check_id(level, {"spark-03"}, "answers");
  INFO(id);
  CHECK(fleet.asked(2) == 2);
  CHECK(fleet.spent(2) <= kLateAllowance + seconds(60));
  std::size_t blocked = 0;
  for (const Check& check : context.checks) {
    INFO(check.id);
    if (check.id == id) {
      CHECK(check.status == CheckStatus::kFail);
      CHECK(check.cause == kReason);
      CHECK_FALSE(check.fix.empty());
    } else if (has(check, "spark-03")) {
      // Its first answers may have completed a measurement.
      CHECK(check.status != CheckStatus::kFail);
      if (check.status != CheckStatus::kSkip) continue;
      CHECK(check.blocked_by == id);
      CHECK(check.cause == kReason);
      ++blocked;
    } else {
      CHECK(check.status == CheckStatus::kPass);
    }
  }
  CHECK(blocked >= 18);  // Of 20.
  CHECK(std::ranges::count(context.checks, id, &Check::id) == 1);
  CHECK_FALSE(context.nodes[2].lost);
}

TEST_CASE("verify: a node that was too late at one level is not asked at the next, and has one failed check") {
  LateFleet fleet(3, Level::kMtu);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  run_levels(context);
  const auto asked = fleet.asked(2);
  VerifyOptions tcp = context.options;
  tcp.levels = {Level::kTcp};
  VerifyContext next{context.cluster, context.nodes, tcp, {}, context.progress, context.checks};
  run_levels(next);
  CHECK(fleet.asked(2) == asked);
  CHECK(std::ranges::count(next.checks, CheckStatus::kFail, &Check::status) == 1);
  const auto pair = std::ranges::find(next.checks, "tcp/spark-01/spark-03/A", &Check::id);
  REQUIRE(pair != next.checks.end());
  CHECK(pair->blocked_by == "mtu/spark-03/answers");
}

TEST_CASE("verify: a slow network between nodes that answer as planned leaves no node out") {
  LateFleet fleet(6, Level::kTcp);
  // The longest time of an agent whose connections and data are slow, and a far controller.
  const auto slow = [](const Request& request) {
    return std::holds_alternative<MeasureTcpRequest>(request) ? milliseconds(23'000) : milliseconds(2'000);
  };
  for (std::size_t node = 0; node < 6; ++node) fleet.delay(node, slow);
  auto context = fleet.context();
  run_levels(context);
  CHECK(context.checks.size() == std::size_t{6} * 5 * 2);
  for (const Check& check : context.checks) CHECK(check.status == CheckStatus::kPass);
  for (const VerifyNode& node : context.nodes) CHECK(node.late == milliseconds(0));
}

TEST_CASE("verify: RDMA with a node that answers just before each deadline ends after its allowance") {
  LateFleet fleet(3, Level::kRdma);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  for (VerifyNode& node : context.nodes) node.level = Level::kRdma;
  RdmaPortFacts port;
  port.link_layer = "InfiniBand";
  RdmaDeviceFacts device;
  device.name = "mlx5_0";
  const RdmaHalf half{{}, &device, &port};
  const auto checks = measure_rdma(context, {{{0, 2, 0, 0}, &half, &half}, {{0, 2, 1, 1}, &half, &half}});
  CHECK(fleet.asked(2) == 2);
  REQUIRE_FALSE(checks.empty());
  CHECK(checks.front().cause == kReason);
  CHECK(std::ranges::any_of(checks, [](const Check& check) { return check.blocked_by == "rdma/spark-03/answers"; }));
  for (const Check& check : checks) CHECK(check.status == CheckStatus::kSkip);
  const auto late = late_nodes(context, Level::kRdma);
  REQUIRE(late.size() == 1);
  CHECK(late.front().id == "rdma/spark-03/answers");
}

TEST_CASE(
    "verify: after each round of pairs of GPUs, each agent gets a sign of life, and none is waited for too often") {
  LateFleet fleet(4, Level::kNccl);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  const Registry registry{{}};
  context.registry = &registry;
  run_levels(context);
  for (const std::size_t node : {0U, 1U, 3U}) CHECK(fleet.asked(node) == 3);
  CHECK(fleet.asked(2) == 2);
  CHECK(std::ranges::count(context.checks, "nccl/spark-03/answers", &Check::id) == 1);
}

TEST_CASE("verify: late answers at the level link leave a node out, and its cables do not fail") {
  LateFleet fleet(4, Level::kLink);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  run_levels(context);
  CHECK(fleet.asked(2) == 2);
  CHECK(fleet.asked(0) == 3);
  std::size_t blocked = 0;
  for (const Check& check : context.checks) {
    INFO(check.id);
    if (check.what != "A/cable" && check.what != "B/cable") continue;
    if (!has(check, "spark-03")) continue;
    CHECK(check.status == CheckStatus::kSkip);
    CHECK(check.blocked_by == "link/spark-03/answers");
    ++blocked;
  }
  CHECK(blocked == 2);
  CHECK(std::ranges::count(context.checks, std::string("link/spark-03/answers"), &Check::id) == 1);
}

TEST_CASE("verify: late answers at the level ssh leave a node out, and the others log in to each other") {
  LateFleet fleet(6, Level::kSsh);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  run_levels(context);
  CHECK(fleet.asked(2) == 2);
  CHECK(context.checks.size() == 37);  // Each node to each one, and the failed check.
  std::size_t passed = 0;
  for (const Check& check : context.checks) {
    INFO(check.id);
    if (check.status == CheckStatus::kPass && !has(check, "spark-03")) ++passed;
    if (check.status == CheckStatus::kFail) CHECK(check.id == "ssh/spark-03/answers");
    if (check.status == CheckStatus::kSkip) CHECK(check.blocked_by == "ssh/spark-03/answers");
  }
  CHECK(passed == 25);
}

TEST_CASE("verify: late answers count at the levels gpu and storage, too") {
  const Level level = GENERATE(Level::kGpu, Level::kStorage);
  LateFleet fleet(3, level);
  fleet.delay(2, [](const Request&) { return kJustInTime; });
  auto context = fleet.context();
  context.registry = &builtin_registry();
  context.nodes[2].late = seconds(10);
  run_levels(context);
  const std::string id = check_id(level, {"spark-03"}, "answers");
  INFO(id);
  CHECK(fleet.asked(2) == 1);
  CHECK(std::ranges::count(context.checks, id, &Check::id) == 1);
  CHECK(context.nodes[0].late == milliseconds(0));
}

}  // namespace sparkplan
