#include "engine/verify/verify_context.h"

#include "tests/support/catch.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

using testing::SampleContext;

Check failed(const std::string& id) {
  Check check;
  check.id = id;
  check.status = CheckStatus::kFail;
  return check;
}

std::vector<std::string> ids_of(const VerifyContext& context) {
  std::vector<std::string> ids;
  for (const auto& pair : half_pairs(context)) ids.push_back(check_of(Level::kTcp, context, pair).id);
  return ids;
}

}  // namespace

TEST_CASE("halves in one network form pairs, in both directions") {
  SampleContext two(2);
  CHECK(ids_of(two.context()) == std::vector<std::string>{"tcp/spark-01/spark-02/A", "tcp/spark-01/spark-02/B",
                                                          "tcp/spark-02/spark-01/A", "tcp/spark-02/spark-01/B"});
  SampleContext eight(8);
  CHECK(ids_of(eight.context()).size() == 8 * 7 * 2);
}

TEST_CASE("link-local halves form pairs by their position, and only where a cable joins their nodes") {
  SampleContext three(3);
  for (std::size_t node = 0; node < 3; ++node) {
    for (std::size_t half = 0; half < 2; ++half) {
      auto& fabric = three.cluster.nodes[node].fabric[half];
      fabric.address.clear();
      fabric.link_local = true;
      three.link(node, half).addresses = {"169.254." + std::to_string(half) + "." + std::to_string(node + 1) + "/16"};
    }
  }
  three.cluster.cables = {{three.cluster.nodes[0].name, three.cluster.nodes[1].name}};
  const auto context = three.context();
  CHECK(context.nodes[0].halves[1].address == "169.254.1.1");
  CHECK(ids_of(context) == std::vector<std::string>{"tcp/spark-01/spark-02/A", "tcp/spark-01/spark-02/B",
                                                    "tcp/spark-02/spark-01/A", "tcp/spark-02/spark-01/B"});
}

TEST_CASE("a link-local address beside a declared one is not measured") {
  SampleContext two(2);
  for (std::size_t node = 0; node < 2; ++node) {
    two.cluster.nodes[node].fabric[0].link_local = true;
    two.link(node, 0).addresses.insert(two.link(node, 0).addresses.begin(),
                                       "169.254.7." + std::to_string(node + 1) + "/16");
  }
  const auto context = two.context();
  CHECK(context.nodes[0].halves[0].address_text() == "192.168.100.11/24");
  CHECK(ids_of(context).size() == 4);
  // The halves pair by their networks, so a peer without `link_local` is one, too.
  two.cluster.nodes[1].fabric[0].link_local = false;
  CHECK(ids_of(two.context()).size() == 4);
}

TEST_CASE("a failed lower check blocks only its own pairs") {
  SampleContext three(3);
  auto context = three.context();
  context.checks = {failed("link/spark-02/A"), failed("mtu/spark-03/spark-01/B")};
  for (const auto& pair : half_pairs(context)) {
    const auto id = check_of(Level::kTcp, context, pair).id;
    INFO(id);
    const bool second = id.find("spark-02") != std::string::npos;
    const bool half_a = id.ends_with("/A");
    CHECK(blocker_of(context, pair, false).check == (second && half_a ? "link/spark-02/A" : ""));
    if (!second && !half_a) CHECK(blocker_of(context, pair, true).reason == "mtu/spark-03/spark-01/B failed");
  }
}

TEST_CASE("a node without pairs is listed with the reason") {
  SampleContext three(3);
  three.cluster.nodes[0].fabric.clear();
  three.reachable = {true, true, false};
  auto context = three.context();
  context.nodes[2].halves.clear();
  const auto checks = without_pairs(context, Level::kMtu, half_pairs(context));
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].id == "mtu/spark-01");
  CHECK(checks[0].cause == "no fabric declared");
  CHECK(checks[1].cause == "no other node shares its networks");
  CHECK(checks[2].cause == "the node is not connected");
}

TEST_CASE("a node whose only peer is off is skipped for that reason") {
  SampleContext sample(2);
  auto context = sample.context();
  context.nodes[1].client = nullptr;
  context.nodes[1].facts = nullptr;
  context.nodes[1].halves.clear();
  const auto checks = without_pairs(context, Level::kMtu, half_pairs(context));
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].cause == "spark-02 is not connected");
}

TEST_CASE("a broken connection marks the node as lost, and an agent's error does not") {
  VerifyNode node;
  CHECK_FALSE(note_if_lost(node, Error{ErrorCode::kFailed, "no such interface", {}, {}, {}}));
  CHECK_FALSE(node.lost);
  CHECK(note_if_lost(node, Error{ErrorCode::kUnreachable, "gone", {}, {}, {}}));
  REQUIRE(node.lost);
  CHECK(node.lost->message == "gone");
}

}  // namespace sparkplan
