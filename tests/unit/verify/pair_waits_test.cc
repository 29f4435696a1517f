// Nodes that keep others waiting within the time that an agent takes at most. No case waits: each node has its own
// clock.
#include "engine/verify/pair_waits.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/verify/levels/levels.h"
#include "tests/support/catch.h"
#include "tests/unit/verify/late_fleet.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::LateFleet;
using testing::SampleContext;

constexpr std::size_t kSlow = 2;  ///< spark-03
/// Within the longest time of an agent.
constexpr milliseconds kLongMeasurement{21'000};
constexpr milliseconds kLongLogin{19'000};

/// The request measures to the slow node, or is a login to it.
bool is_to_slow(const Request& request) {
  if (const auto* tcp = std::get_if<MeasureTcpRequest>(&request)) {
    return tcp->address.ends_with("." + std::to_string(11 + kSlow));
  }
  const auto* logins = std::get_if<SshLoginRequest>(&request);
  return logins != nullptr && logins->targets.front().host == LateFleet::address_of(kSlow);
}

milliseconds long_time(const Request& request) {
  if (std::holds_alternative<MeasureTcpRequest>(request)) return kLongMeasurement;
  return std::holds_alternative<SshLoginRequest>(request) ? kLongLogin : milliseconds(0);
}

bool concerns_slow(const Check& check) {
  return std::ranges::any_of(check.nodes, [](const std::string& name) { return name == "spark-03"; });
}

/// All checks without the slow node passed, and exactly it has failed.
void check_left_out(const VerifyContext& context, Level level) {
  const std::string id = check_id(level, {"spark-03"}, "pairs");
  std::size_t blocked = 0;
  for (const Check& check : context.checks) {
    INFO(check.id);
    if (!concerns_slow(check)) CHECK(check.status == CheckStatus::kPass);
    if (check.status == CheckStatus::kFail) CHECK(check.id == id);
    if (check.status != CheckStatus::kSkip) continue;
    CHECK(check.blocked_by == id);
    ++blocked;
  }
  CHECK(blocked > 0);
  CHECK(std::ranges::count(context.checks, id, &Check::id) == 1);
}

/// Lost time between nodes, without measurements.
class Losses {
 public:
  explicit Losses(int nodes) : sample(nodes), context(sample.context()) {
    const auto count = static_cast<std::size_t>(nodes);
    for (std::size_t one = 0; one < count; ++one) {
      for (std::size_t other = 0; other < one; ++other) lose(one, other, seconds(0));
    }
  }

  void lose(std::size_t one, std::size_t other, seconds time) {
    context.nodes[one].waits.lost[other] = time;
    context.nodes[other].waits.lost[one] = time;
  }
  /// The numbers of the nodes that are left out.
  std::vector<std::size_t> left_out() {
    leave_out_of_pairs(context);
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < context.nodes.size(); ++i) {
      if (context.nodes[i].keeps_others_waiting()) nodes.push_back(i);
    }
    return nodes;
  }

  SampleContext sample;
  VerifyContext context;
};

using Numbers = std::vector<std::size_t>;

}  // namespace

TEST_CASE("verify: a node that keeps three others waiting is left out, and the pairs of the others are measured") {
  LateFleet fleet(8, Level::kTcp);
  for (std::size_t node = 0; node < 8; ++node) {
    if (node == kSlow) continue;
    fleet.delay(node, [](const Request& request) { return is_to_slow(request) ? kLongMeasurement : milliseconds(0); });
  }
  auto context = fleet.context();
  run_levels(context);
  check_left_out(context, Level::kTcp);
  const auto failed = std::ranges::find(context.checks, "tcp/spark-03/pairs", &Check::id);
  REQUIRE(failed != context.checks.end());
  CHECK(failed->cause == "spark-03 kept 3 nodes waiting; this level measures it no further");
  CHECK_FALSE(failed->fix.empty());
  std::size_t waited = 0;
  for (std::size_t node = 0; node < 8; ++node) waited += fleet.spent(node) > seconds(0) ? 1U : 0U;
  CHECK(waited == 3);
}

TEST_CASE("verify: a node that claims that the others keep it waiting is left out, and none of them") {
  LateFleet fleet(8, Level::kTcp);
  fleet.delay(kSlow, long_time);
  auto context = fleet.context();
  run_levels(context);
  check_left_out(context, Level::kTcp);
}

TEST_CASE("verify: a node whose logins take long is left out at the level ssh, as a peer and by its claims") {
  const bool by_claims = GENERATE(false, true);
  LateFleet fleet(8, Level::kSsh);
  for (std::size_t node = 0; node < 8; ++node) {
    if (by_claims && node == kSlow) fleet.delay(node, long_time);
    if (by_claims || node == kSlow) continue;
    fleet.delay(node, [](const Request& request) { return is_to_slow(request) ? kLongLogin : milliseconds(0); });
  }
  auto context = fleet.context();
  run_levels(context);
  check_left_out(context, Level::kSsh);
}

TEST_CASE("verify: a node that kept others waiting at one level is measured at the next") {
  LateFleet fleet(4, Level::kTcp);
  auto context = fleet.context();
  context.nodes[kSlow].waits.kept = 3;
  run_levels(context);
  for (const Check& check : context.checks) CHECK(check.status == CheckStatus::kPass);
}

TEST_CASE("verify: two nodes that keep a third one waiting for hours do not have it left out") {
  Losses losses(8);
  losses.lose(0, 1, seconds(5'000));
  losses.lose(0, 2, seconds(5'000));
  CHECK(losses.left_out().empty());
}

TEST_CASE("verify: a network that is slow for all has no node left out") {
  Losses losses(8);
  for (std::size_t one = 0; one < 8; ++one) {
    for (std::size_t other = 0; other < one; ++other) losses.lose(one, other, seconds(30));
  }
  CHECK(losses.left_out().empty());
}

TEST_CASE("verify: pairs that a failed link blocks do not have nodes in a network that is slow for all left out") {
  constexpr std::size_t kNodes = 11;
  constexpr std::size_t kLinked = 5;
  LateFleet fleet(static_cast<int>(kNodes), Level::kTcp);
  for (std::size_t node = 0; node < kNodes; ++node) fleet.delay(node, long_time);
  auto context = fleet.context();
  for (std::size_t node = kLinked; node < kNodes; ++node) {
    for (const ObservedPort& half : context.nodes[node].halves) {
      Check failed = skipped(Level::kLink, {context.nodes[node].name()}, half.label(), "no carrier");
      failed.status = CheckStatus::kFail;
      context.checks.push_back(std::move(failed));
    }
  }
  run_levels(context);
  std::size_t passed = 0;
  for (const Check& check : context.checks) {
    INFO(check.id);
    if (check.level == Level::kTcp) CHECK(check.status != CheckStatus::kFail);
    if (check.status == CheckStatus::kPass) ++passed;
  }
  // Both directions of both halves.
  CHECK(passed == kLinked * (kLinked - 1) * 2);
}

TEST_CASE("verify: time lost with a node that is left out does not count for the others") {
  Losses losses(20);
  for (std::size_t other = 0; other < 4; ++other) losses.lose(19, other, seconds(90));
  losses.lose(0, 5, seconds(25));
  losses.lose(0, 6, seconds(25));
  CHECK(losses.left_out() == Numbers{19});
  CHECK(losses.context.nodes[19].waits.kept == 4);
}

TEST_CASE("verify: small losses with many nodes add up") {
  Losses losses(20);
  for (std::size_t other = 0; other < 19; ++other) losses.lose(19, other, seconds(4));
  CHECK(losses.left_out() == Numbers{19});
}

}  // namespace sparkplan
