// The node that the narrow paths of the level mtu have in common.
#include "engine/verify/levels/mtu_level.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/verify/pairs.h"
#include "tests/support/catch.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

using testing::SampleContext;

constexpr const char* kNamesNode = "only this node is affected";

/// Half 0 of each pair of the nodes, with the causes after name_common_ends(). The paths between `narrow` nodes fail.
std::vector<Check> checks_with(int nodes, const std::vector<NodePair>& narrow, const std::vector<NodePair>& without) {
  SampleContext sample(nodes);
  const auto context = sample.context();
  std::vector<HalfPair> pairs;
  std::vector<Check> checks;
  for (const HalfPair& pair : half_pairs(context)) {
    const NodePair ends = std::minmax(pair.from, pair.to);
    const auto is_one_of = [&](const std::vector<NodePair>& some) {
      return std::find(some.begin(), some.end(), ends) != some.end();
    };
    if (pair.from_half != 0 || is_one_of(without)) continue;
    Check check = check_of(Level::kMtu, context, pair);
    check.status = is_one_of(narrow) ? CheckStatus::kFail : CheckStatus::kPass;
    check.value = is_one_of(narrow) ? 1'500 : 9'000;
    pairs.push_back(pair);
    checks.push_back(std::move(check));
  }
  name_common_ends(context, pairs, checks);
  return checks;
}

bool any_names_a_node(const std::vector<Check>& checks) {
  return std::ranges::any_of(checks, [](const Check& one) { return one.cause.find(kNamesNode) != std::string::npos; });
}

}  // namespace

TEST_CASE("mtu: a node whose paths to two others are narrow is named, and the others are not") {
  const auto checks = checks_with(3, {{0, 2}, {1, 2}}, {});
  REQUIRE(checks.size() == 6);
  CHECK(any_names_a_node(checks));
  for (const Check& check : checks) {
    CHECK((check.cause.find("switch port of spark-03") != std::string::npos) == (check.status == CheckStatus::kFail));
    CHECK(check.cause.find("switch port of spark-01") == std::string::npos);
    CHECK(check.cause.find("switch port of spark-02") == std::string::npos);
  }
}

TEST_CASE("mtu: a narrow path that one other node reports names no node") {
  // With cables in a line, a half has one other end: either node may have the fault, or only claim it.
  CHECK_FALSE(any_names_a_node(checks_with(4, {{0, 1}}, {{0, 2}, {0, 3}, {1, 2}, {1, 3}})));
  CHECK_FALSE(any_names_a_node(checks_with(3, {{0, 1}}, {})));
}

TEST_CASE(
    "mtu: one partner that contradicts does not keep a node with narrow paths from being named, and is named too") {
  for (const int nodes : {4, 5}) {
    std::vector<NodePair> narrow{{1, 2}, {1, 3}};
    if (nodes == 5) narrow.emplace_back(1, 4);
    const auto checks = checks_with(nodes, narrow, {});
    CHECK_FALSE(any_names_a_node(checks));
    for (const Check& check : checks) {
      const bool named = check.cause.find(
                             "of the paths of spark-02, only those with spark-01 do not show this: check "
                             "the cable or the switch port of spark-02, and spark-01") != std::string::npos;
      CHECK(named == (check.status == CheckStatus::kFail));
      CHECK(check.cause.find("switch port of spark-01") == std::string::npos);
    }
  }
  // Its other paths say nothing: it may claim these, too.
  const auto claimed = checks_with(5, {{1, 2}, {1, 3}, {1, 4}, {0, 2}}, {});
  CHECK(std::ranges::count_if(claimed, [](const Check& one) {
          return one.cause.find("switch port of spark-02") != std::string::npos;
        }) == 6);
}

TEST_CASE("mtu: no node is named if two contradict, or if the paths fit more than one node") {
  const auto names_one = [](const std::vector<Check>& checks) {
    return std::ranges::any_of(
        checks, [](const Check& one) { return one.cause.find("the switch port of") != std::string::npos; });
  };
  CHECK_FALSE(names_one(checks_with(5, {{1, 2}, {1, 3}}, {})));
  CHECK_FALSE(names_one(checks_with(3, {{1, 2}}, {})));
  // Either spark-02 is affected and spark-04 claims its paths, or spark-03 is and spark-01 does.
  CHECK_FALSE(names_one(checks_with(4, {{0, 1}, {1, 2}, {2, 3}}, {})));
  // Two nodes are affected, and none of the two others.
  const auto two = checks_with(4, {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}, {});
  for (const Check& check : two) {
    CHECK(check.cause.find("switch port of spark-01") == std::string::npos);
    CHECK(check.cause.find("switch port of spark-04") == std::string::npos);
  }
}

TEST_CASE("mtu: a node that is left out does not keep the narrow paths of another one from naming it") {
  SampleContext sample(5);
  auto context = sample.context();
  context.nodes[4].waits.kept = 3;
  std::vector<HalfPair> pairs;
  std::vector<Check> checks;
  for (const HalfPair& pair : half_pairs(context)) {
    if (pair.from_half != 0) continue;
    Check check = check_of(Level::kMtu, context, pair);
    const bool narrow = pair.from == 2 || pair.to == 2;
    if (pair.from == 4 || pair.to == 4) {
      check.block(blocker_of(context, pair, false));
    } else {
      check.status = narrow ? CheckStatus::kFail : CheckStatus::kPass;
      check.value = narrow ? 1'500 : 9'000;
    }
    pairs.push_back(pair);
    checks.push_back(std::move(check));
  }
  name_common_ends(context, pairs, checks);
  const auto named = [](const Check& one) { return one.cause.find("switch port of spark-03") != std::string::npos; };
  CHECK(std::ranges::count_if(checks, named) == 6);
}

}  // namespace sparkplan
