#include "engine/fleet/planning/waves.h"
#include "engine/fleet/session/selection.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

using Names = std::vector<std::string>;
using Cables = std::vector<std::pair<NodeName, NodeName>>;

Cables cables(const std::vector<std::pair<std::string, std::string>>& ends) {
  Cables result;
  for (const auto& [a, b] : ends) result.emplace_back(NodeName::parse(a).value(), NodeName::parse(b).value());
  return result;
}

Step step(const std::string& name, bool disruptive, const std::string& group = "", const std::string& needs = "") {
  Step step;
  step.type = "t";
  step.resources = {{"t", name}};
  step.group = group.empty() ? name : group;
  step.disruptive = disruptive;
  if (!needs.empty()) step.needs = {{"t", needs}};
  return step;
}

Names names_of(const std::vector<Step>& steps) {
  Names names;
  for (const Step& one : steps) names.push_back(one.resources.front().name);
  return names;
}

}  // namespace

TEST_CASE("waves: one canary node is first, then all others") {
  CHECK(waves({"a", "b", "c", "d"}, {}, 0) == std::vector<Names>{{"a"}, {"b", "c", "d"}});
  CHECK(waves({"a", "b", "c", "d"}, {}, 2) == std::vector<Names>{{"a"}, {"b", "c"}, {"d"}});
  CHECK(waves({"a"}, {}, 0) == std::vector<Names>{{"a"}});
  CHECK(waves({}, {}, 0).empty());
}

TEST_CASE("waves: the two ends of a cable are changed together") {
  CHECK(waves({"a", "b"}, cables({{"a", "b"}}), 0) == std::vector<Names>{{"a", "b"}});
  CHECK(waves({"a", "b", "c", "d"}, cables({{"a", "b"}, {"c", "d"}}), 0) == std::vector<Names>{{"a", "b"}, {"c", "d"}});
  // A ring is one piece, whatever the limit says.
  CHECK(waves({"a", "b", "c"}, cables({{"a", "b"}, {"b", "c"}, {"c", "a"}}), 1) == std::vector<Names>{{"a", "b", "c"}});
  // An unchanged end couples no nodes.
  CHECK(waves({"a", "c"}, cables({{"a", "b"}, {"b", "c"}}), 0) == std::vector<Names>{{"a"}, {"c"}});
}

TEST_CASE("waves: after a failed canary the error names the way to change the others without it") {
  CHECK(way_without("--exclude", {}).empty());
  CHECK(way_without("--exclude", {"a"}) == "to change the other nodes without it: --exclude a");
  CHECK(way_without("--exclude", {"a", "b"}) == "to change the other nodes without them: --exclude a --exclude b");
  // A saved plan is applied as a whole, and a rollback names its nodes.
  CHECK(way_without("sparkplan plan -o FILE --exclude", {"a"}) ==
        "to change the other nodes without it: sparkplan plan -o FILE --exclude a");
  CHECK(way_without("", {"a"}).empty());
  // The next node is the canary then.
  CHECK(waves({"b", "c", "d"}, {}, 0) == std::vector<Names>{{"b"}, {"c", "d"}});
}

TEST_CASE("disruptive steps include their group and come last") {
  const auto split = split_steps({step("file", false, "net"), step("link", true, "net"), step("calm", false)}, {});
  CHECK(names_of(split.safe) == Names{"calm"});
  CHECK(names_of(split.disruptive) == Names{"file", "link"});
}

TEST_CASE("safe steps that need a disruptive step wait for the next stage") {
  const auto split = split_steps({step("link", true), step("mount", false, "", "link"), step("calm", false)}, {});
  CHECK(names_of(split.safe) == Names{"calm"});
  CHECK(names_of(split.disruptive) == Names{"link"});
}

TEST_CASE("a step that needs a waiting step waits too") {
  const auto split = split_steps({step("link", true), step("connection", false, "", "link"),
                                  step("mount", false, "", "connection"), step("calm", false)},
                                 {});
  CHECK(names_of(split.safe) == Names{"calm"});
}

TEST_CASE("the number of stages is bounded by the waiting types, not by the number of changes") {
  NodePlan plan;
  CHECK(most_stages({}) == 2 + kStagesForFailures);
  for (int i = 0; i < 1000; ++i) plan.waiting.push_back({"key", std::to_string(i)});
  plan.waiting.push_back({"mount", "/a"});
  CHECK(most_stages({&plan, &plan}) == 6 + kStagesForFailures);
}

TEST_CASE("a disruptive step is not begun if a step that it needs has failed") {
  const auto split = split_steps({step("link", true, "", "key"), step("other", true)}, {{"t", "key"}});
  CHECK(names_of(split.disruptive) == Names{"other"});
}

}  // namespace sparkplan::test
