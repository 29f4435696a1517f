// TCP to a link-local address, which is the receiving node's own claim.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/verify/levels/levels.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

/// Three nodes with link-local halves: 169.254.HALF.NODE. Their agents measure whatever they are asked for.
class LinkLocalFleet {
 public:
  LinkLocalFleet() : sample(3) {
    sample.options.levels = {Level::kTcp};
    for (std::size_t node = 0; node < 3; ++node) {
      for (const std::size_t half : {0U, 1U}) {
        FabricPort& port = sample.cluster.nodes[node].fabric[half];
        port.link_local = true;
        port.address.clear();
        claim(node, half, "169.254." + std::to_string(half) + "." + std::to_string(node + 1));
      }
      add();
    }
  }
  void claim(std::size_t node, std::size_t half, const std::string& address) {
    sample.link(node, half).addresses = {address + "/16"};
  }

  std::vector<Check> verify() {
    auto context = sample.context();
    for (std::size_t i = 0; i < agents_.size(); ++i) context.nodes[i].client = &*agents_[i]->client;
    return verify_tcp(context);
  }
  bool connected_to(const std::string& address) const {
    return std::ranges::any_of(agents_, [&](const auto& agent) {
      return std::find(agent->targets.begin(), agent->targets.end(), address) != agent->targets.end();
    });
  }

  testing::SampleContext sample;

 private:
  struct Agent {
    test::Remote remote;
    std::vector<std::string> targets;  ///< To which it was to connect.
    Result<AgentClient> client = failure(ErrorCode::kNotFound, "not opened");
  };

  void add() {
    agents_.push_back(std::make_unique<Agent>());
    Agent* const agent = agents_.back().get();
    agent->remote.add(test::agent(test::own_hello(), [agent](const Request& request) -> Result<Value> {
      if (std::holds_alternative<OpenReceiverRequest>(request)) return encode(OpenReceiverReply{1001, 1002});
      if (std::holds_alternative<CloseReceiverRequest>(request)) return encode(CloseReceiverReply{});
      if (const auto* measured = std::get_if<MeasureTcpRequest>(&request)) {
        agent->targets.push_back(measured->address);
        return encode(MeasureTcpReply{TcpOutcome::kDone, "", 1'000'000, 1'000'000});
      }
      return test::answer_usually(request);
    }));
    agent->client = AgentClient::open(test::node(), agent->remote.options(), {});
    REQUIRE(agent->client);
  }

  std::vector<std::unique_ptr<Agent>> agents_;
};

const Check& check_named(const std::vector<Check>& checks, std::string_view id) {
  const auto found = std::ranges::find_if(checks, [&](const Check& check) { return check.id == id; });
  REQUIRE(found != checks.end());
  return *found;
}

}  // namespace

TEST_CASE("tcp: nothing connects to a link-local address that another node reports, and both are named") {
  LinkLocalFleet fleet;
  CHECK(std::ranges::all_of(fleet.verify(), [](const Check& check) { return check.status == CheckStatus::kPass; }));
  CHECK(fleet.connected_to("169.254.0.3"));

  LinkLocalFleet claiming;
  // An address of the first node, on its other half.
  claiming.claim(2, 0, "169.254.1.1");
  const auto checks = claiming.verify();
  CHECK_FALSE(claiming.connected_to("169.254.1.1"));
  const Check& refused = check_named(checks, "tcp/spark-02/spark-03/A");
  CHECK(refused.status == CheckStatus::kFail);
  CHECK(refused.cause == "spark-03 and spark-01 both have 169.254.1.1");
  CHECK_FALSE(refused.fix.empty());
  CHECK(check_named(checks, "tcp/spark-02/spark-01/A").status == CheckStatus::kPass);
  CHECK(check_named(checks, "tcp/spark-01/spark-02/B").status == CheckStatus::kPass);
}

TEST_CASE("tcp: an address of the file stays in use when another node claims it") {
  LinkLocalFleet fleet;
  fleet.sample.cluster.nodes[0].fabric[0].address = "169.254.0.1";
  fleet.claim(2, 1, "169.254.0.1");
  const auto checks = fleet.verify();
  CHECK(check_named(checks, "tcp/spark-02/spark-01/A").status == CheckStatus::kPass);
  CHECK(check_named(checks, "tcp/spark-02/spark-03/B").status == CheckStatus::kFail);
}

}  // namespace sparkplan
