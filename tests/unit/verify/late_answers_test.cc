// Nodes that answer late. Each node has its own clock, which its answers move on: no case waits.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/verify/levels/levels.h"
#include "engine/verify/levels/rdma_pair.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SampleContext;

/// Just below the deadline of a request.
constexpr milliseconds kJustInTime{59'000};
constexpr const char* kReason = "spark-03 answered too late too often; this run does not ask it again";

Result<Value> good_answer(const Request& request, std::int64_t lid) {
  if (std::holds_alternative<OpenReceiverRequest>(request)) return encode(OpenReceiverReply{1001, 1002});
  if (std::holds_alternative<CloseReceiverRequest>(request)) return encode(CloseReceiverReply{});
  if (std::holds_alternative<MeasureTcpRequest>(request)) {
    return encode(MeasureTcpReply{TcpOutcome::kDone, "", 1'000'000, 1'000'000});
  }
  if (const auto* probe = std::get_if<ProbeRequest>(&request)) {
    return encode(ProbeReply{std::vector<bool>(probe->targets.size(), true)});
  }
  if (std::holds_alternative<RdmaOpenRequest>(request)) {
    RdmaEndpoint endpoint;
    endpoint.session = 1;
    endpoint.lid = lid;
    endpoint.mtu = 4096;
    endpoint.queue_pairs = {1, 2, 3, 4};
    return encode(endpoint);
  }
  return test::answer_usually(request);
}

using Delay = std::function<milliseconds(const Request&)>;

/// Nodes whose agents measure well, and take the time that a case gives them.
class LateFleet {
 public:
  LateFleet(int count, Level level) : sample_(count) {
    sample_.options.levels = {level};
    for (int i = 0; i < count; ++i) add();
  }

  VerifyContext context() {
    auto made = sample_.context();
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      made.nodes[i].client = &*agents_[i]->client;
      made.nodes[i].now = [agent = agents_[i].get()] { return agent->time; };
    }
    return made;
  }

  void delay(std::size_t node, Delay by) { agents_[node]->delay = std::move(by); }
  std::size_t asked(std::size_t node) const { return agents_[node]->asked; }
  /// How long its answers took together.
  milliseconds spent(std::size_t node) const {
    return std::chrono::ceil<milliseconds>(agents_[node]->time.time_since_epoch());
  }

 private:
  struct Agent {
    test::Remote remote;
    std::chrono::steady_clock::time_point time{};
    Delay delay = [](const Request&) { return milliseconds(0); };
    std::size_t asked = 0;
    Result<AgentClient> client = failure(ErrorCode::kNotFound, "not opened");
  };

  void add() {
    agents_.push_back(std::make_unique<Agent>());
    Agent* const agent = agents_.back().get();
    const auto lid = static_cast<std::int64_t>(agents_.size());
    agent->remote.add(test::agent(test::own_hello(), [agent, lid](const Request& request) {
      if (std::holds_alternative<FactsRequest>(request)) return test::answer_usually(request);
      ++agent->asked;
      agent->time += agent->delay(request);
      return good_answer(request, lid);
    }));
    agent->client = AgentClient::open(test::node(), agent->remote.options(), {});
    REQUIRE(agent->client);
  }

  SampleContext sample_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

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

}  // namespace sparkplan
