// Fields that follow from another node's report: which of them stay as they are in a saved plan.
#include "engine/plan/fields_of_others.h"

#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/saved_samples.h"

namespace sparkplan {
namespace {

using testing::kA;
using testing::kB;
using testing::two_changes;
using testing::with_lines_of;

/// kA as the nodes n1 and n2 report it.
Resource desired_lines(const std::string& first, const std::string& second) {
  Resource resource{kA, Value::map({{"line.n1", first}, {"line.n2", second}, {"size.n1", "z"}}), {}, {}};
  resource.known_part_first = true;
  return resource;
}

const OtherNodes kFirstAndSecond{{"n1", "n2"}, {}};

}  // namespace

TEST_CASE("fields of another node differ if the node reports other data, and not if this node was changed") {
  NodePlan saved = with_lines_of("new 1", "new 2");
  const Resource as_shown = desired_lines("new 1", "new 2");
  const Resource other = desired_lines("other 1", "new 2");
  const auto found = fields_reported_otherwise(saved, with_lines_of("other 1", "new 2"), {other}, kFirstAndSecond);
  CHECK(found.nodes == std::set<std::string>{"n1"});
  CHECK(found.unclear.empty());
  CHECK(found.fields == KeptFields{{kA, {"line.n1", "size.n1"}}});
  CHECK(fields_reported_otherwise(saved, saved, {as_shown}, kFirstAndSecond).fields.empty());
  // The node itself, and nodes that the file does not name, are no other nodes.
  CHECK(fields_reported_otherwise(saved, with_lines_of("other 1", "new 2"), {other}, {{"n2"}, {}}).fields.empty());
  CHECK(fields_reported_otherwise(saved, saved, {as_shown}, {{"n2"}, {"n1"}}).nodes == std::set<std::string>{"n1"});
  NodePlan removing = saved;
  removing.changes[0].fields[0].after = Value();
  Resource without_first = as_shown;
  without_first.desired.erase("line.n1");
  CHECK(fields_reported_otherwise(removing, removing, {without_first}, {{"n2"}, {"n1"}}).fields.empty());
  NodePlan changed = with_lines_of("other 1", "new 2");
  changed.steps[0].before = file_present("touched", 0644);
  CHECK(fields_reported_otherwise(saved, changed, {other}, kFirstAndSecond).fields.empty());
  NodePlan other_changed = with_lines_of("other 1", "new 2");
  other_changed.steps[1].before = file_present("touched", 0644);
  CHECK(fields_reported_otherwise(saved, other_changed, {other}, kFirstAndSecond).fields == found.fields);
  // Kept fields would hide that its own file was edited.
  Resource edited = other;
  edited.id = kB;
  CHECK(fields_reported_otherwise(saved, other_changed, {other, edited}, kFirstAndSecond).fields == found.fields);
  // The node reports what it has there: nothing is left to change, and the displayed value is not written.
  NodePlan no_change = two_changes();
  no_change.changes.erase(no_change.changes.begin());
  no_change.steps.erase(no_change.steps.begin());
  CHECK(fields_reported_otherwise(saved, no_change, {desired_lines("old 1", "new 2")}, kFirstAndSecond).nodes ==
        std::set<std::string>{"n1"});
}

TEST_CASE("another state of a field on this node is not the report of another node") {
  const NodePlan shown = with_lines_of("new 1", "new 2");
  NodePlan saved = shown;
  NodePlan now = shown;
  SECTION("another run made the whole change") {
    now.changes.erase(now.changes.begin());
    now.steps.erase(now.steps.begin());
  }
  SECTION("one field is in order already") { now.changes[0].fields.erase(now.changes[0].fields.begin()); }
  SECTION("one field was edited") { now.changes[0].fields[0].before = "edited"; }
  SECTION("a field that the plan does not show was edited") {
    saved.changes[0].fields.erase(saved.changes[0].fields.begin());
  }
  SECTION("a removed line of a node without trust is there again") {
    now.changes[0].fields.push_back({"other.n1", "edited", Value()});
  }
  SECTION("the resource could not be planned when the plan was made") {
    saved.changes.erase(saved.changes.begin());
    saved.blocked.push_back({kA, Error{ErrorCode::kFailed, "no look", {}, {}, ""}, {}});
  }
  const auto found = fields_reported_otherwise(saved, now, {desired_lines("new 1", "new 2")}, kFirstAndSecond);
  CHECK(found.nodes.empty());
  CHECK(found.unclear.empty());
  CHECK(found.fields.empty());
}

TEST_CASE("a blocked resource says nothing about the reports of other nodes") {
  const NodePlan saved = with_lines_of("new 1", "new 2");
  NodePlan now = two_changes();
  now.changes.erase(now.changes.begin());
  now.blocked.push_back({kA, Error{ErrorCode::kStalePlan, "a finding is not in the plan", {}, {}, ""}, {}});
  CHECK(
      fields_reported_otherwise(saved, now, {desired_lines("its home is shared", "")}, kFirstAndSecond).fields.empty());
}

TEST_CASE("a field that is there in one of two plans only is kept alone, without a verdict on its node") {
  const NodePlan shown = with_lines_of("new 1", "new 2");
  NodePlan saved = shown;
  NodePlan now = shown;
  Resource resource = desired_lines("new 1", "new 2");
  SECTION("it is not desired any more") {
    now.changes[0].fields[0].after = Value();
    resource.desired.erase("line.n1");
  }
  SECTION("the plan shows that it is removed") { saved.changes[0].fields[0].after = Value(); }
  SECTION("the plan shows no change of its resource, and this node was edited") {
    saved.changes.erase(saved.changes.begin());
    saved.after_steps.clear();
    now.changes[0].origin = Origin::kDrift;
    now.changes[0].fields.pop_back();
  }
  const auto found = fields_reported_otherwise(saved, now, {resource}, kFirstAndSecond);
  CHECK(found.nodes.empty());
  CHECK(found.unclear == std::set<std::string>{"n1"});
  CHECK(found.fields == KeptFields{{kA, {"line.n1"}}});
}

}  // namespace sparkplan
