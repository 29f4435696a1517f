// Plans as files: the parts that are carried out, and the parts that are refused.
#include <algorithm>
#include <functional>

#include "engine/load/load.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/support/saved_text.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;
using test::kProfileFile;
using test::kSysctlFile;
using test::standing;

constexpr auto kSavedSections =
    "sysctl: {vm.swappiness: 10, net.core.rmem_max: 256MiB}\n"
    "profile_env: {HF_HOME: /mnt/models/hf}\n";

/// The plan after it was saved and read again.
SavedPlan saved(const FleetBench& bench) {
  const auto plan = bench.saved_plan();
  auto decoded = decode_saved_plan(test::saved_text(plan));
  REQUIRE(decoded);
  return *std::move(decoded);
}

bool saved_says(const Report& report, std::string_view words) {
  TextStyle style;
  style.width = 1000;
  return to_text(report, style).find(words) != std::string::npos ||
         std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.message.find(words) != std::string::npos; });
}

void forget_everything(FleetBench& bench, std::size_t number) {
  bench.root(number).remove("/var/lib/sparkplan");
  bench.root(number).remove(kSysctlFile);
  bench.root(number).remove(kProfileFile);
}

}  // namespace

TEST_CASE("a saved plan is applied as it was made") {
  FleetBench bench(2);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 0);
  CHECK(changes(report) == changes(plan.report));
  CHECK(standing(report) == "n1 applied, n2 applied");
  CHECK(changes(bench.plan()).empty());
}

TEST_CASE("a saved plan is shown first, and the answer no writes nothing and keeps the plan usable") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  const auto before = bench.whole_trees();
  bench.options.approve = [&](const Report& shown) {
    CHECK(changes(shown) == changes(plan.report));
    return false;
  };
  bench.apply();
  CHECK(bench.whole_trees() == before);
  bench.options.approve = nullptr;
  CHECK(exit_of(bench.apply()) == 0);
}

TEST_CASE("a plan is applied only once, even if all of its resources are removed again") {
  FleetBench bench(2);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  REQUIRE(exit_of(bench.apply()) == 0);
  // As before any apply, except for the nodes' manifests.
  for (const std::size_t node : {1U, 2U}) {
    bench.root(node).remove(kSysctlFile);
    bench.root(node).remove(kProfileFile);
  }
  const auto before = bench.whole_trees();
  const auto again = bench.apply();
  CHECK(exit_of(again) == 5);
  CHECK(saved_says(again, "the plan was applied before, on n[1-2]"));
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("a plan that most nodes have received is refused on all, and reported as broken off") {
  FleetBench bench(3);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  // The connection to n3 is cut after n1 and n2 are done: n3 looks untouched, and the agents are killed.
  REQUIRE(exit_of(bench.apply()) == 0);
  for (const std::size_t number : {1U, 2U}) {
    auto manifest = bench.root(number).read(test::kManifestFile);
    const auto at = manifest.find("\"finished\": true");
    REQUIRE(at != std::string::npos);
    manifest.replace(at, 16, "\"finished\": false");
    bench.root(number).write(test::kManifestFile, manifest);
  }
  forget_everything(bench, 3);
  const auto before = bench.whole_trees();
  const auto again = bench.apply();
  CHECK(exit_of(again) == 5);
  CHECK(saved_says(again, "which was interrupted"));
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("a plan that one node of three claims to have received is refused only there") {
  FleetBench bench(3);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  REQUIRE(exit_of(bench.apply()) == 0);
  for (const std::size_t number : {1U, 2U}) forget_everything(bench, number);
  const auto again = bench.apply();
  CHECK(exit_of(again) == 5);
  CHECK(standing(again) == "n1 applied, n2 applied, n3 failed");
}

TEST_CASE("a change of a file edited since the plan is refused, and other nodes are applied") {
  FleetBench bench(2);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  bench.root(1).write(kProfileFile, "export MINE=1\n");
  const auto report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 5);
  CHECK(standing(report) == "n1 failed, n2 applied");
  CHECK(saved_says(report, "was changed since the plan was made"));
  CHECK(bench.root(1).read(kProfileFile) == "export MINE=1\n");
  // The other type's file on the same node was as planned.
  CHECK(bench.root(1).read(kSysctlFile).find("vm.swappiness = 10") != std::string::npos);
  CHECK(bench.root(2).read(kProfileFile).find("/mnt/models/hf") != std::string::npos);
}

TEST_CASE("a change already made without the plan is stale") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.apply_all();
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 5);
  CHECK(saved_says(report, "without this plan"));
}

TEST_CASE("a difference outside the plan is named and left unchanged") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  bench.apply_all();
  bench.sections =
      "sysctl: {vm.swappiness: 20, net.core.rmem_max: 256MiB}\n"
      "profile_env: {HF_HOME: /mnt/models/hf}\n";
  const auto plan = saved(bench);
  REQUIRE(changes(plan.report) == std::vector<std::string>{"n1 update sysctl/vm.swappiness config"});
  bench.root(1).remove(kProfileFile);
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 0);
  CHECK(saved_says(report, "profile_env/HF_HOME also differs"));
  CHECK_FALSE(bench.root(1).exists(kProfileFile));
  CHECK(bench.root(1).read(kSysctlFile).find("vm.swappiness = 20") != std::string::npos);
}

TEST_CASE("another machine of the same name is refused") {
  FleetBench bench(2);
  bench.sections = kSavedSections;
  bench.root(1).write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  const auto plan = saved(bench);
  bench.root(1).write("/etc/machine-id", "fedcba9876543210fedcba9876543210\n");
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 5);
  CHECK(saved_says(report, "it is not the machine that the plan was made for: its machine-id"));
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
  CHECK(bench.root(2).exists(kSysctlFile));
}

TEST_CASE("a node that failed during planning is not changed, not even by a manifest") {
  FleetBench bench(2);
  bench.sections = kSavedSections;
  const auto path = bench.root(2).path();
  const auto away = path.string() + ".away";
  std::filesystem::rename(path, away);
  const auto plan = saved(bench);
  std::filesystem::rename(away, path);
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(saved_says(report, "n2: it could not be planned when the plan was made"));
  CHECK(bench.root(2).tree().empty());
  CHECK(bench.root(1).exists(kSysctlFile));
}

TEST_CASE("of two concurrent applies of one plan one succeeds and the other is refused") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  const auto plan = saved(bench);
  bench.options.saved_plan = &plan;
  // The other controller applies between this run's observation and its lock.
  int code = -1;
  bench.options.approve = [&](const Report&) {
    const auto cluster = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
    ApplyOptions other;
    other.saved_plan = &plan;
    code = exit_of(ApplyRun(*cluster.cluster, builtin_registry(), bench.run, other).run());
    return true;
  };
  const auto report = bench.apply();
  CHECK(code == 0);
  CHECK(exit_of(report) == 5);
}

namespace {

/// Edits the displayed plan of one node and computes a matching digest, as an editor of plans can.
SavedPlan edited(SavedPlan plan, const std::function<void(NodePlan&)>& edit) {
  edit(plan.report.nodes[0].plan);
  auto decoded = decode_saved_plan(test::saved_text(plan));
  REQUIRE(decoded);
  return *std::move(decoded);
}

Change& change_named(NodePlan& plan, const std::string& id) {
  const auto found = std::find_if(plan.changes.begin(), plan.changes.end(),
                                  [&](const Change& change) { return change.id.str() == id; });
  REQUIRE(found != plan.changes.end());
  return *found;
}

}  // namespace

TEST_CASE("a displayed change that differs from the plan's cluster.yaml is not made") {
  const std::vector<std::function<void(NodePlan&)>> edits{
      [](NodePlan& plan) { change_named(plan, "profile_env/HF_HOME").fields[0].after = "/home/victim"; },
      [](NodePlan& plan) { change_named(plan, "profile_env/HF_HOME").fields[0].before = "/somewhere"; },
      [](NodePlan& plan) { change_named(plan, "profile_env/HF_HOME").action = Action::kUpdate; },
      [](NodePlan& plan) { change_named(plan, "profile_env/HF_HOME").impact = Impact::kLive; },
      [](NodePlan& plan) { change_named(plan, "profile_env/HF_HOME").note = "reviewed"; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    INFO(i);
    FleetBench bench(1);
    bench.sections = kSavedSections;
    const auto plan = edited(saved(bench), edits[i]);
    bench.options.saved_plan = &plan;
    const auto report = bench.apply();
    INFO(to_text(report, {}));
    CHECK(exit_of(report) == 5);
    CHECK_FALSE(bench.root(1).exists(kProfileFile));
    // Changes that match their displayed form are carried out.
    CHECK(bench.root(1).exists(kSysctlFile));
  }
}

TEST_CASE("a change that a plan does not display is not made, whatever its cluster.yaml contains") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  const auto plan = edited(saved(bench), [](NodePlan& one) {
    std::erase_if(one.changes, [](const Change& change) { return change.id.type == "profile_env"; });
    std::erase_if(one.steps, [](const Step& step) { return step.type == "profile_env"; });
    std::erase_if(one.after_steps, [](const auto& value) { return value.first.type == "profile_env"; });
  });
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  CHECK(saved_says(report, "profile_env/HF_HOME also differs"));
  CHECK_FALSE(bench.root(1).exists(kProfileFile));
  CHECK(bench.root(1).exists(kSysctlFile));
}

TEST_CASE("a change displayed as waiting is not made in another form") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  const auto plan = edited(saved(bench), [](NodePlan& one) {
    Change& change = change_named(one, "profile_env/HF_HOME");
    change.fields[0].after = Value::Unknown{"known after n2 creates its key", "n2/ssh_trust/nvidia"};
    one.waiting.push_back(change.id);
    std::erase_if(one.steps, [](const Step& step) { return step.type == "profile_env"; });
    std::erase_if(one.after_steps, [](const auto& value) { return value.first.type == "profile_env"; });
  });
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 5);
  CHECK_FALSE(bench.root(1).exists(kProfileFile));
}

TEST_CASE("a displayed change that is not due is reported") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  const auto plan = edited(saved(bench), [](NodePlan& one) {
    one.kept_orphans.push_back({"sysctl", "kernel.panic"});
    one.changes.push_back(one.changes[0]);
    one.changes.back().id.name = "vm.overcommit_memory";
  });
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 5);
  CHECK(saved_says(report, "the planned change of sysctl/kernel.panic is no longer needed"));
  CHECK(saved_says(report, "vm.overcommit_memory"));
}

TEST_CASE("a node displayed with another address or membership is not changed") {
  FleetBench bench(1);
  bench.sections = kSavedSections;
  auto elsewhere = saved(bench);
  elsewhere.report.nodes[0].address = "/somewhere/else";
  bench.options.saved_plan = &elsewhere;
  auto report = bench.apply();
  CHECK(exit_of(report) == 5);
  CHECK(saved_says(report, "its address was /somewhere/else in the plan"));
  auto as_member = saved(bench);
  as_member.report.nodes[0].membership = Membership::kMember;
  bench.options.saved_plan = &as_member;
  report = bench.apply();
  CHECK(exit_of(report) == 5);
  CHECK(saved_says(report, "the plan shows it as a member of the cluster"));
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
  CHECK_FALSE(bench.root(1).exists(kProfileFile));
}

TEST_CASE("a node with a finding that the plan does not display is not changed") {
  FleetBench bench(1);
  // Only the node shows that this directory is missing.
  bench.sections = "files: [{path: /nowhere/a.conf, content: a}]\n" + std::string(kSavedSections);
  const auto whole = saved(bench);
  REQUIRE_FALSE(whole.report.diagnostics.empty());
  auto plan = whole;
  plan.report.diagnostics.clear();
  bench.options.saved_plan = &plan;
  const auto report = bench.apply();
  CHECK(standing(report) == "n1 failed");
  CHECK(saved_says(report, "a finding is not in the plan"));
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
}

}  // namespace sparkplan
