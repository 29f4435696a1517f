#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::applied_bench;
using testing::Bench;
using testing::ids_of;
using testing::kKnobFile;
using testing::knob;
using testing::knob_file;
using testing::no_permission;

TEST_CASE("a line added by hand to a managed file is drift of TYPE/@file") {
  Bench bench = applied_bench();
  const std::string edited = *bench.machine.file + "# by hand\n";
  bench.machine.file = edited;
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file");
  const Change& change = plan.changes[0];
  CHECK(change.origin == Origin::kDrift);
  CHECK(change.action == Action::kUpdate);
  REQUIRE(change.fields.size() == 1);
  CHECK(change.fields[0].path == "content");
  CHECK(change.fields[0].before == Value(edited));
  CHECK(change.fields[0].after == Value(knob_file({{"a", 1}, {"b", 2}})));
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].resources == std::vector<ResourceId>{{"knob", "@file"}});
  CHECK(plan.resulting.count({"knob", "@file"}) == 0);
  bench.apply();
  CHECK(bench.plan().in_sync());
}

TEST_CASE("an unedited file of an older version is rewritten with origin config") {
  Bench bench = applied_bench();
  bench.machine.file = "# An older header\na = 1\nb = 2\n";
  bench.manifest->artifacts.at(kKnobFile).written_digest = digest(file_present(*bench.machine.file, 0644));
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file");
  CHECK(plan.changes[0].origin == Origin::kConfig);
}

TEST_CASE("an existing file with correct values is rewritten with origin config") {
  Bench bench;
  bench.machine.running = {{"a", 1}};
  bench.machine.file = "a = 1\n";
  bench.desired = {knob("a", 1)};
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file");
  CHECK(plan.changes[0].origin == Origin::kConfig);
}

TEST_CASE("a first rewrite lists the whole file if it would remove foreign lines") {
  Bench bench;
  bench.machine.running = {{"a", 10}};
  bench.machine.file = "a = 1\nsomething else\n";
  bench.desired = {knob("a", 1)};
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file knob/a");
  CHECK(plan.changes[0].origin == Origin::kConfig);
}

TEST_CASE("an artifact of a broken-off run without resources is restored") {
  Bench bench = applied_bench();
  bench.desired.clear();
  bench.manifest->resources.clear();
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file");
  CHECK(plan.changes[0].action == Action::kRemove);
  bench.machine.file = *bench.machine.file + "# by hand\n";
  CHECK(bench.plan().in_sync());  // The file is now a foreign file.
}

TEST_CASE("a file edited by hand is listed even if another change rewrites it") {
  Bench bench = applied_bench();
  bench.machine.file = *bench.machine.file + "# by hand\n";
  bench.desired = {knob("a", 5), knob("b", 2)};
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file knob/a");
  CHECK(plan.changes[0].origin == Origin::kDrift);
  CHECK(plan.changes[1].origin == Origin::kConfig);
  CHECK(plan.steps.back().resources.size() == 2);
}

TEST_CASE("a file edited in a resource's own line is listed once, as that resource's drift") {
  Bench bench = applied_bench();
  bench.machine.file = knob_file({{"a", 99}, {"b", 2}});
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "knob/a");
  CHECK(plan.changes[0].origin == Origin::kDrift);
}

TEST_CASE("a file with only its mode changed lists the mode") {
  Bench bench = applied_bench();
  bench.distort = [&](ObservedState& state) {
    state.types["knob"].artifacts[kKnobFile] = file_present(*bench.machine.file, 0666);
  };
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/@file");
  REQUIRE(plan.changes[0].fields.size() == 1);
  CHECK(plan.changes[0].fields[0].path == "mode");
  CHECK(plan.changes[0].origin == Origin::kDrift);
}

TEST_CASE("a whole file is repaired only if it is selected itself") {
  Bench bench = applied_bench();
  bench.machine.file = *bench.machine.file + "# by hand\n";
  bench.selected = [](const ResourceId& id) { return id.name == "a"; };
  CHECK(bench.plan().in_sync());
  CHECK(bench.plan().steps.empty());
  bench.selected = [](const ResourceId& id) { return id.name == "@file"; };
  CHECK(bench.plan().steps.empty());  // No resource in the file is selected.
  bench.selected = [](const ResourceId& id) { return id.type == "knob"; };
  CHECK(ids_of(bench.plan()) == "knob/@file");
}

TEST_CASE("an unreadable file without changes is blocked as TYPE/@file") {
  Bench bench = applied_bench();
  bench.distort = [](ObservedState& state) { state.types["knob"].artifacts[kKnobFile] = no_permission(); };
  const NodePlan plan = bench.plan();
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].id.str() == "knob/@file");
  CHECK(plan.steps.empty());
}

TEST_CASE("a whole file whose step failed earlier in the run is not written again") {
  Bench bench = applied_bench();
  bench.machine.file = *bench.machine.file + "# by hand\n";
  bench.failed[{"knob", "@file"}] = {ErrorCode::kStalePlan, "changed meanwhile", {}, {}, {}};
  const NodePlan plan = bench.plan();
  CHECK(plan.steps.empty());
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].error.code == ErrorCode::kStalePlan);
}

TEST_CASE("a whole file has the worst impact of its resources") {
  Bench bench = applied_bench();
  bench.machine.file = *bench.machine.file + "# by hand\n";
  bench.desired[1].impact = Impact::kNeedsReboot;
  CHECK(bench.plan().changes[0].impact == Impact::kNeedsReboot);
}

}  // namespace
}  // namespace sparkplan
