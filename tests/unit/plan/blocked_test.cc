#include <algorithm>

#include "engine/core/bounded_text.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::applied_bench;
using testing::artifacts_of;
using testing::Bench;
using testing::ids_of;
using testing::key;
using testing::kKnobFile;
using testing::knob;
using testing::knob_file;
using testing::link;
using testing::no_permission;

TEST_CASE("an unreadable resource is blocked, and all others continue") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 5), knob("b", 6)};
  bench.distort = [](ObservedState& state) { state.types["knob"].resources["a"] = no_permission(); };
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "knob/b");
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].id.str() == "knob/a");
  CHECK(plan.blocked[0].where.line == 7);
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 1).desired);
}

TEST_CASE("a blocked resource keeps its line in a shared file") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 1), knob("b", 6)};
  bench.distort = [](ObservedState& state) { state.types["knob"].resources["a"] = no_permission(); };
  const NodePlan plan = bench.plan();
  REQUIRE(plan.steps.size() == 2);
  CHECK(content_of(plan.steps[1].after) == knob_file({{"a", 1}, {"b", 6}}));
}

TEST_CASE("a resource that the node does not report is blocked, and not treated as absent") {
  Bench bench;
  bench.desired = {link("eth1", 9000)};
  bench.distort = [](ObservedState& state) { state.types.clear(); };
  const NodePlan plan = bench.plan();
  CHECK(plan.changes.empty());
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan_node({bench.desired, nullptr, nullptr, {}, {}}, bench.registry).blocked.size() == 1);
}

TEST_CASE("a declared resource without a known value stays as it is, and others that left the file are removed") {
  Bench bench = applied_bench();
  bench.desired.clear();
  bench.unresolved = {{"knob", "a"}};
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "knob/b");
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].id.str() == "knob/a");
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 1).desired);
  CHECK_FALSE(plan.after_steps.contains({"knob", "a"}));
  CHECK(plan.after_steps.at({"knob", "b"}).is_null());
}

TEST_CASE("a resource that needs a declared one without a known value is not told that it is undeclared") {
  Bench bench = applied_bench();
  Resource dependent = knob("b", 6);
  SECTION("a declared one that was never applied") {
    dependent.after = {{"key", "x"}};
    bench.unresolved = {{"key", "x"}};
  }
  SECTION("a declared one that was applied") {
    dependent.after = {{"knob", "a"}};
    bench.unresolved = {{"knob", "a"}};
  }
  SECTION("one that the file does not declare") { dependent.after = {{"key", "x"}}; }
  const std::string needed = dependent.after.front().str();
  const bool declared = !bench.unresolved.empty();
  bench.desired = {knob("a", 1), dependent};
  if (needed == "knob/a") bench.desired.erase(bench.desired.begin());
  const NodePlan plan = bench.plan();
  const auto blocked = std::find_if(plan.blocked.begin(), plan.blocked.end(),
                                    [](const BlockedResource& one) { return one.id.str() == "knob/b"; });
  REQUIRE(blocked != plan.blocked.end());
  CHECK(blocked->error.code == ErrorCode::kInvalidInput);
  CHECK(blocked->error.message ==
        "needs " + needed +
            (declared ? ", which is left unchanged: its desired state is not known" : ", which is not declared"));
}

TEST_CASE("an unreadable file blocks every change that would write it") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 5), knob("b", 2), link("eth1", 9000)};
  bench.distort = [](ObservedState& state) { state.types["knob"].artifacts[kKnobFile] = no_permission(); };
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "link/eth1");
  CHECK(artifacts_of(plan) == "link:eth1");
  CHECK(std::any_of(plan.blocked.begin(), plan.blocked.end(), [](const auto& b) { return b.id.str() == "knob/a"; }));
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 1).desired);
}

TEST_CASE("a long error of an artifact is cut where it blocks thousands of resources") {
  Bench bench;
  for (int i = 0; i < 3'000; ++i) bench.desired.push_back(knob("k" + std::to_string(i), 1));
  Error error = no_permission();
  error.message = std::string(kLongestErrorMessage, 'm');
  error.context.assign(kMostErrorContext, std::string(kLongestErrorContext, 'c'));
  bench.distort = [&](ObservedState& state) { state.types["knob"].artifacts[kKnobFile] = error; };
  const NodePlan plan = bench.plan();
  std::size_t bytes = 0;
  std::size_t of_knobs = 0;
  for (const BlockedResource& one : plan.blocked) {
    bytes += one.error.describe().size() + one.error.hint.size();
    of_knobs += one.id.name != kWholeFileName ? 1U : 0U;
  }
  CHECK(of_knobs == 3'000);
  CHECK(bytes < std::size_t{4} << 20);
}

TEST_CASE("a file that would exceed the size limit for reading is not written, and the plan reports it") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 1), knob("b", 2), knob(std::string(kLargestTextFile, 'x'), 3), link("eth1", 9000)};
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "link/eth1");
  CHECK(artifacts_of(plan) == "link:eth1");
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].error.code == ErrorCode::kRefused);
  CHECK(plan.blocked[0].error.message.find(kKnobFile.name) != std::string::npos);
}

TEST_CASE("a removal whose recorded original is neither absent nor a value is blocked, and the others continue") {
  for (const ArtifactId& artifact : {kKnobFile, ArtifactId{"live", "a"}}) {
    Bench bench = applied_bench();
    bench.manifest->artifacts.at(artifact).original = NotApplicable{"false"};
    bench.desired.clear();
    const NodePlan plan = bench.plan();
    REQUIRE_FALSE(plan.blocked.empty());
    CHECK(plan.blocked[0].error.message.find(artifact.name) != std::string::npos);
    CHECK(std::ranges::none_of(plan.steps, [&](const Step& step) { return step.artifact == artifact; }));
    // The steps of the plan can be saved and read again.
    for (const Step& step : plan.steps) CHECK(decode<Step>(encode(step)));
  }
}

TEST_CASE("a resource that needs one in an unreadable file is blocked, in any phase") {
  Bench bench = applied_bench();
  Resource early = key("anna");
  early.after = {{"knob", "a"}};
  bench.desired = {early, knob("a", 5), knob("b", 2)};
  bench.distort = [](ObservedState& state) { state.types["knob"].artifacts[kKnobFile] = no_permission(); };
  const NodePlan plan = bench.plan();
  CHECK(plan.changes.empty());
  CHECK(plan.steps.empty());
}

TEST_CASE("a resource that needs a blocked one is blocked, and the message names it") {
  Bench bench;
  Resource dependent = link("eth1", 9000);
  dependent.after = {{"key", "anna"}};
  Resource further = link("eth2", 9000);
  further.after = {dependent.id};
  bench.desired = {key("anna"), dependent, further};
  bench.distort = [](ObservedState& state) { state.types["key"].resources["anna"] = no_permission(); };
  const NodePlan plan = bench.plan();
  CHECK(plan.changes.empty());
  REQUIRE(plan.blocked.size() == 3);
  CHECK(plan.blocked[1].error.message == "needs key/anna, which is blocked");
  CHECK(plan.blocked[1].error.code == ErrorCode::kPermissionDenied);
  CHECK(plan.blocked[2].error.message == "needs link/eth1, which is blocked");
}

TEST_CASE("a resource in sync is not blocked by its dependencies") {
  Bench bench;
  Resource dependent = link("eth1", 9000);
  dependent.after = {{"key", "anna"}};
  bench.machine.links["eth1"] = "9000";
  bench.desired = {key("anna"), dependent};
  bench.distort = [](ObservedState& state) { state.types["key"].resources["anna"] = no_permission(); };
  CHECK(bench.plan().blocked.size() == 1);
}

TEST_CASE("a cycle is blocked with its path, and so are its dependents") {
  Bench bench;
  Resource a = link("a", 1), b = link("b", 1), c = link("c", 1), outside = link("d", 1);
  a.after = {b.id};
  b.after = {c.id};
  c.after = {a.id};
  outside.after = {b.id};
  bench.desired = {a, b, c, outside};
  const NodePlan plan = bench.plan();
  REQUIRE(plan.blocked.size() == 4);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(plan.blocked[i].error.message == "resources need each other: link/a -> link/b -> link/c -> link/a");
  CHECK(plan.blocked[3].error.message == "needs link/b, which is blocked");
  CHECK(plan.steps.empty());
}

TEST_CASE("a resource that needs itself is a cycle of one") {
  Bench bench;
  Resource a = link("a", 1);
  a.after = {a.id};
  bench.desired = {a};
  REQUIRE(bench.plan().blocked.size() == 1);
  CHECK(bench.plan().blocked[0].error.message == "resources need each other: link/a -> link/a");
}

TEST_CASE("a resource that needs an undeclared one is blocked") {
  Bench bench;
  Resource a = link("a", 1);
  a.after = {{"key", "nobody"}};
  bench.desired = {a};
  REQUIRE(bench.plan().blocked.size() == 1);
  CHECK(bench.plan().blocked[0].error.message == "needs key/nobody, which is not declared");
}

TEST_CASE("a resource whose step failed earlier in the run is blocked and left unchanged") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 5), knob("b", 6)};
  bench.failed[{"knob", "a"}] = {ErrorCode::kFailed, "write", {}, {}, {}};
  bench.apply();
  CHECK(bench.machine.running.at("a") == 1);
  CHECK(*bench.machine.file == knob_file({{"a", 1}, {"b", 6}}));
  CHECK(bench.manifest->resources.at({"knob", "a"}).last_applied == knob("a", 1).desired);
}

}  // namespace
}  // namespace sparkplan
