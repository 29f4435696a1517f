#include "engine/fleet/waves.h"
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

TEST_CASE("waves: a canary first, then all others") {
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

TEST_CASE("steps that may cut a node off take their group along, and come last") {
  const auto split = split_steps({step("file", false, "net"), step("link", true, "net"), step("calm", false)}, {});
  CHECK(names_of(split.safe) == Names{"calm"});
  CHECK(names_of(split.disruptive) == Names{"file", "link"});
}

TEST_CASE("calm steps that need what may cut a node off wait for the stage after") {
  const auto split = split_steps({step("link", true), step("mount", false, "", "link"), step("calm", false)}, {});
  CHECK(names_of(split.safe) == Names{"calm"});
  CHECK(names_of(split.disruptive) == Names{"link"});
}

TEST_CASE("what needs a step that waits waits with it") {
  const auto split = split_steps({step("link", true), step("connection", false, "", "link"),
                                  step("mount", false, "", "connection"), step("calm", false)},
                                 {});
  CHECK(names_of(split.safe) == Names{"calm"});
}

TEST_CASE("what may cut a node off is not begun when what it needs has failed") {
  const auto split = split_steps({step("link", true, "", "key"), step("other", true)}, {{"t", "key"}});
  CHECK(names_of(split.disruptive) == Names{"other"});
}

}  // namespace sparkplan::test
