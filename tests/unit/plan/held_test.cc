// The changes of a saved plan that may still be carried out.
#include <functional>
#include <string>

#include "engine/plan/held_plan.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/saved_samples.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

using testing::change_of;
using testing::kA;
using testing::kB;
using testing::step_of;
using testing::two_changes;
using testing::with_lines_of;

using Edit = std::function<void(NodePlan&)>;

/// Every possible difference in the displayed change of kA, or in its steps.
std::vector<std::pair<std::string, Edit>> edits_of_a() {
  const auto change = [](auto edit) { return Edit([edit](NodePlan& plan) { edit(plan.changes[0]); }); };
  const auto step = [](auto edit) { return Edit([edit](NodePlan& plan) { edit(plan.steps[0]); }); };
  return {
      {"action", change([](Change& one) { one.action = Action::kRemove; })},
      {"origin", change([](Change& one) { one.origin = Origin::kDrift; })},
      {"impact", change([](Change& one) { one.impact = Impact::kNeedsReboot; })},
      {"reversibility", change([](Change& one) { one.reversible = Reversible::kNo; })},
      {"remark", change([](Change& one) { one.note = "harmless"; })},
      {"place", change([](Change& one) {
         one.where = {7, 1, 2};
       })},
      {"before", change([](Change& one) { one.fields[0].before = 9; })},
      {"after", change([](Change& one) { one.fields[0].after = 9; })},
      {"after, unknown", change([](Change& one) {
         one.fields[0].after = Value::Unknown{"later", "n2"};
       })},
      {"path", change([](Change& one) { one.fields[0].path = "other"; })},
      {"another field", change([](Change& one) {
         one.fields.push_back({"more", 1, 2});
       })},
      {"another change", [](NodePlan& plan) { plan.changes.push_back(plan.changes[0]); }},
      {"a change of another's file",
       [](NodePlan& plan) {
         Change foreign = plan.changes[0];
         foreign.origin = Origin::kForeign;
         plan.changes.push_back(foreign);
       }},
      {"waiting", [](NodePlan& plan) { plan.waiting.push_back(kA); }},
      {"type of the step", step([](Step& one) { one.type = "other"; })},
      {"artifact", step([](Step& one) { one.artifact = file_artifact("/etc/shadow"); })},
      {"phase", step([](Step& one) { one.phase = Phase::kNetwork; })},
      {"step before", step([](Step& one) { one.before = Absent{}; })},
      {"step after", step([](Step& one) { one.after = Absent{}; })},
      {"step after, by one byte", step([](Step& one) { one.after = file_present("new\n", 0644); })},
      {"mode", step([](Step& one) { one.after = file_present("new", 0666); })},
      {"needs", step([](Step& one) {
         one.needs = {{"fake", "c"}};
       })},
      {"group", step([](Step& one) { one.group = "another"; })},
      {"activates", step([](Step& one) { one.activates = true; })},
      {"cutting", step([](Step& one) { one.disruptive = true; })},
      {"reversibility of the step", step([](Step& one) { one.reversible = Reversible::kNo; })},
      {"another step", [](NodePlan& plan) { plan.steps.push_back(step_of("/c", "old", "new", {kA})); }},
      {"value", [](NodePlan& plan) { plan.after_steps[kA] = 9; }},
  };
}

Change waiting_change() {
  Change change = change_of(kA, Value(), Value(Value::Unknown{"known after n2 creates its key", "n2/fake/key"}));
  change.fields.push_back({"mode", Value(), "0644"});
  return change;
}

NodePlan waiting_plan() {
  NodePlan plan;
  plan.changes = {waiting_change()};
  plan.waiting = {kA};
  return plan;
}

}  // namespace

TEST_CASE("an unchanged plan is approved completely") {
  const auto held = hold_to(two_changes(), two_changes());
  CHECK(held.approved == std::set<ResourceId>{kA, kB});
  CHECK(held.stale.empty());
  CHECK(held.not_held.empty());
}

TEST_CASE("a change with another state before or after is stale, and other changes are not") {
  for (const auto& now_step : {step_of("/a", "touched", "new", {kA}), step_of("/a", "old", "other", {kA}),
                               step_of("/elsewhere", "old", "new", {kA})}) {
    auto now = two_changes();
    now.steps[0] = now_step;
    const auto held = hold_to(two_changes(), now);
    CHECK(held.approved == std::set<ResourceId>{kB});
    REQUIRE(held.stale.count(kA) == 1);
    CHECK(held.stale.at(kA).code == ErrorCode::kStalePlan);
  }
}

TEST_CASE("a change in a stale group, or one that needs a stale change, is stale too") {
  auto saved = two_changes();
  saved.steps[1].group = saved.steps[0].group;
  auto now = saved;
  now.steps[0].before = file_present("touched", 0644);
  CHECK(hold_to(saved, now).approved.empty());
  saved = two_changes();
  saved.steps[1].needs = {kA};
  now = saved;
  now.steps[0].before = file_present("touched", 0644);
  CHECK(hold_to(saved, now).approved.empty());
}

TEST_CASE("a change that is already made is stale, a new one is named, and a blocked one is neither") {
  auto now = two_changes();
  now.changes.erase(now.changes.begin());
  now.steps.erase(now.steps.begin());
  CHECK(hold_to(two_changes(), now).stale.count(kA) == 1);
  const auto held = hold_to(now, two_changes());
  CHECK(held.not_held == std::vector<ResourceId>{kA});
  CHECK(held.approved == std::set<ResourceId>{kB});
  now.blocked.push_back({kA, Error{ErrorCode::kFailed, "no look", {}, {}, ""}, {}});
  CHECK(hold_to(two_changes(), now).stale.empty());
}

TEST_CASE("any difference between displayed and current change makes the change stale") {
  for (const auto& [name, edit] : edits_of_a()) {
    INFO(name);
    auto edited = two_changes();
    edit(edited);
    const auto of_edited_plan = hold_to(edited, two_changes());
    CHECK(of_edited_plan.approved == std::set<ResourceId>{kB});
    REQUIRE(of_edited_plan.stale.count(kA) == 1);
    CHECK(of_edited_plan.stale.at(kA).code == ErrorCode::kStalePlan);
    const auto of_another_node = hold_to(two_changes(), edited);
    CHECK(of_another_node.approved.count(kA) == 0);
    CHECK(of_another_node.approved.count(kB) == 1);
  }
}

TEST_CASE("a waiting change is approved while it waits for the same value") {
  CHECK(hold_to(waiting_plan(), waiting_plan()).approved == std::set<ResourceId>{kA});
  auto saved = waiting_plan();
  saved.steps = {step_of("/a", "old", "known part", {kA})};
  CHECK(hold_to(saved, saved).approved == std::set<ResourceId>{kA});
  auto now = saved;
  now.steps[0].after = file_present("something else", 0644);
  CHECK(hold_to(saved, now).stale.count(kA) == 1);
  now = saved;
  now.changes[0].fields[0].after = Value::Unknown{"known after n3 creates its key", "n3/fake/key"};
  CHECK(hold_to(saved, now).stale.count(kA) == 1);
}

TEST_CASE("a change displayed with an Unknown is stale if the value is already known") {
  NodePlan now = waiting_plan();
  now.waiting.clear();
  now.changes[0].fields[0].after = "the key";
  now.steps = {step_of("/a", "old", "with the key", {kA})};
  const auto held = hold_to(waiting_plan(), now);
  CHECK(held.approved.empty());
  REQUIRE(held.stale.count(kA) == 1);
  CHECK(held.stale.at(kA).message.find("known already") != std::string::npos);
}

TEST_CASE("an Unknown inside a list or map may become known, and all other parts must stay as displayed") {
  const Value unknown = Value::Unknown{"known after n2 creates its key", "n2/fake/key"};
  NodePlan saved = waiting_plan();
  saved.changes[0].fields[0].after = Value::list({"mine", unknown});
  CHECK(hold_to(saved, saved).approved.count(kA) == 1);
  NodePlan later = saved;
  later.changes[0].fields[0].after = Value::list({"mine", "theirs"});
  CHECK(beyond_what_was_shown(saved, later).empty());
  later.changes[0].fields[0].after = Value::list({"not mine", "theirs"});
  CHECK(beyond_what_was_shown(saved, later).count(kA) == 1);
  later.changes[0].fields[0].after = Value::list({"mine", "theirs", "one more"});
  CHECK(beyond_what_was_shown(saved, later).count(kA) == 1);
}

TEST_CASE("a later stage may resolve a displayed Unknown, and change nothing else") {
  NodePlan later;
  later.changes = {waiting_change()};
  later.changes[0].fields[0].after = "the key";
  later.changes[0].fields[1].before = "0600";  // An earlier stage created it.
  CHECK(beyond_what_was_shown(waiting_plan(), later).empty());
  later.changes[0].fields.pop_back();
  CHECK(beyond_what_was_shown(waiting_plan(), later).empty());
  later.changes[0].fields.push_back({"mode", Value(), "0666"});
  CHECK(beyond_what_was_shown(waiting_plan(), later).count(kA) == 1);
  later.changes[0] = waiting_change();
  later.changes[0].fields.push_back({"owner", Value(), 0});
  CHECK(beyond_what_was_shown(waiting_plan(), later).count(kA) == 1);
  later.changes[0] = waiting_change();
  later.changes[0].impact = Impact::kInterruptsNetwork;
  CHECK(beyond_what_was_shown(waiting_plan(), later).count(kA) == 1);
  later.changes = {change_of(kB, 1, 2)};
  CHECK(beyond_what_was_shown(waiting_plan(), later).empty());  // The user did not approve it: its id excludes it.
}

TEST_CASE("a displayed resource without a change that no longer holds is named") {
  NodePlan saved;
  saved.blocked.push_back({kA, Error{ErrorCode::kFailed, "no look", {}, {}, ""}, {}});
  saved.not_applicable.push_back({kB, "", "an image"});
  saved.kept_orphans = {{"fake", "c"}};
  CHECK(hold_to(saved, saved).not_so_now.empty());
  CHECK(hold_to(saved, NodePlan()).not_so_now == std::vector<ResourceId>{kA, kB, {"fake", "c"}});
}

namespace {

const KeptFields kKeptOfFirst{{kA, {"line.n1"}}};

}  // namespace

TEST_CASE("if some fields of a change stay as they are, its other fields are approved") {
  const NodePlan saved = with_lines_of("new 1", "new 2");
  const NodePlan now = with_lines_of("old 1", "new 2");
  CHECK(hold_to(saved, now).stale.contains(kA));
  CHECK(hold_to(saved, now, kKeptOfFirst).approved == std::set<ResourceId>{kA, kB});
  // A field of another node must be as displayed.
  CHECK(hold_to(saved, with_lines_of("old 1", "other 2"), kKeptOfFirst).stale.contains(kA));
  CHECK(hold_to(saved, with_lines_of("old 1", "old 2"), kKeptOfFirst).stale.contains(kA));
}

TEST_CASE("a step for fewer fields writes and removes nothing that the saved plan does not display") {
  NodePlan saved = with_lines_of("new 1", "new 2");
  NodePlan now = with_lines_of("old 1", "new 2");
  SECTION("a line that is neither displayed nor there") { now.steps[0].after = file_present("other 1\nnew 2\n", 0644); }
  SECTION("another mode") { now.steps[0].after = file_present("old 1\nnew 2\n", 0666); }
  SECTION("a line that the displayed step leaves is removed") {
    saved.steps[0] = step_of("/a", "old 1\nold 2\nrest\n", "new 1\nnew 2\nrest\n", {kA});
    now.steps[0] = step_of("/a", "old 1\nold 2\nrest\n", "old 1\nnew 2\n", {kA});
  }
  SECTION("another state before it") { now.steps[0].before = file_present("touched", 0644); }
  SECTION("one more step") { now.steps.push_back(step_of("/c", "old", "new", {kA})); }
  SECTION("one more resource") { now.steps[0].resources.push_back(kB); }
  SECTION("another value in the manifest") { now.after_steps[kA].set("line.n2", "other"); }
  CHECK(hold_to(saved, now, kKeptOfFirst).stale.contains(kA));
}

TEST_CASE("if all fields of a change stay as they are, it is neither approved nor stale") {
  const NodePlan saved = with_lines_of("new 1", "old 2");
  NodePlan now = two_changes();
  std::erase_if(now.changes, [](const Change& change) { return change.id == kA; });
  std::erase_if(now.steps, [](const Step& step) { return step.resources == std::vector<ResourceId>{kA}; });
  const HeldPlan held = hold_to(saved, now, kKeptOfFirst);
  CHECK(held.approved == std::set<ResourceId>{kB});
  CHECK(held.stale.empty());
  CHECK(held.not_held.empty());
}

TEST_CASE("a change that only waits without its kept fields is approved if the saved plan shows that it waits") {
  NodePlan saved = with_lines_of("new 1", "old 2");
  saved.changes[0].fields.push_back(
      {"line.n2", "old 2", Value::Unknown{"known after n2 creates its key", "n2/fake/a"}});
  saved.waiting = {kA};
  NodePlan now = saved;
  now.changes[0].fields.erase(now.changes[0].fields.begin());
  now.steps.erase(now.steps.begin());
  now.after_steps.clear();
  CHECK(hold_to(saved, now, kKeptOfFirst).approved == std::set<ResourceId>{kA, kB});
  CHECK(hold_to(saved, now).stale.contains(kA));
  now.changes[0].fields[0].after = Value::Unknown{"known after n3 creates its key", "n3/fake/a"};
  CHECK(hold_to(saved, now, kKeptOfFirst).stale.contains(kA));
}

TEST_CASE(
    "an edited file that the saved plan shows may keep lines of kept fields, and gets no line that is not shown") {
  const ResourceId file{"fake", std::string(kWholeFileName)};
  const std::string there = "old 1\nold 2\nmine\n";
  const auto with_file = [&](const std::string& first) {
    NodePlan plan = with_lines_of(first, "new 2");
    const std::string written = first + "\nnew 2\n";
    plan.steps[0] = step_of("/a", there, written, {kA, file});
    plan.changes.push_back(change_of(file, there, written));
    plan.changes.back().fields[0].path = "content";
    return plan;
  };
  const NodePlan saved = with_file("new 1");
  CHECK(hold_to(saved, with_file("old 1"), kKeptOfFirst).approved == std::set<ResourceId>{kA, kB, file});
  CHECK(hold_to(saved, with_file("other 1"), kKeptOfFirst).stale.contains(file));
  CHECK(hold_to(saved, with_lines_of("old 1", "new 2"), kKeptOfFirst).stale.contains(file));
  NodePlan forged = saved;
  forged.changes.back().fields[0].after = "harmless";
  CHECK(hold_to(forged, with_file("old 1"), kKeptOfFirst).stale.contains(file));
}

namespace {

constexpr double kMostHeldSeconds = 5;

/// Removals of resources that share a file of 256 KiB. Each has a second step, for itself.
NodePlan removals(int count) {
  NodePlan plan;
  Step file = step_of("/shared", std::string(std::size_t{256} << 10, 'x'), "", {});
  for (int i = 0; i < count; ++i) {
    const ResourceId id{"fake", std::to_string(i)};
    plan.changes.push_back(change_of(id, 1, Value()));
    plan.changes.back().action = Action::kRemove;
    plan.after_steps[id] = Value();
    plan.steps.push_back(step_of("/" + id.name, "old", "new", {id}));
    plan.steps.back().group = file.group;
    file.resources.push_back(id);
  }
  plan.steps.push_back(std::move(file));
  return plan;
}

}  // namespace

TEST_CASE("thirty thousand blocked resources in a saved plan cost less than five seconds") {
  constexpr int kBlocked = 30'000;
  NodePlan saved;
  for (int i = 0; i < kBlocked; ++i) {
    saved.blocked.push_back({{"unknown", std::to_string(i)}, Error{ErrorCode::kUnsupported, "type", {}, {}, ""}, {}});
    saved.not_applicable.push_back({{"link", std::to_string(i)}, "", "an image"});
    saved.kept_orphans.push_back({"orphan", std::to_string(i)});
  }
  NodePlan now = saved;
  now.blocked.front().error.message = "another";
  const auto cost = test::cost_of([&] {
    return hold_to(saved, now).not_so_now == std::vector<ResourceId>{now.blocked.front().id} &&
           hold_to(saved, NodePlan()).not_so_now.size() == 3 * kBlocked;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHeldSeconds);
}

TEST_CASE("ten thousand removals of one type in a saved plan cost less than five seconds") {
  constexpr int kRemovals = 10'000;
  const NodePlan saved = removals(kRemovals);
  NodePlan now = saved;
  const auto cost = test::cost_of([&] { return hold_to(saved, now).approved.size() == kRemovals; });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHeldSeconds);
  now.steps.front().before = file_present("touched", 0644);
  const auto cost_of_withdrawing = test::cost_of([&] {
    const HeldPlan held = hold_to(saved, now);
    return held.approved.empty() && held.stale.size() == kRemovals &&
           held.stale.at({"fake", "0"}).message == "/0 was changed since the plan was made" &&
           held.stale.at({"fake", "1"}).message.starts_with("a change that belongs with it (/1) ");
  });
  CHECK(cost_of_withdrawing.exit_status == 0);
  CHECK(cost_of_withdrawing.seconds < kMostHeldSeconds);
}

TEST_CASE("a change with thousands of fields in a saved plan costs less than five seconds") {
  NodePlan saved = two_changes();
  for (int i = 0; i < 100'000; ++i) saved.changes[0].fields.push_back({"field." + std::to_string(i), 1, 2});
  const auto cost = test::cost_of(
      [&] { return hold_to(saved, saved).approved.contains(kA) && beyond_what_was_shown(saved, saved).empty(); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHeldSeconds);
}

}  // namespace sparkplan
