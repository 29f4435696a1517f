// From a plan to nodes that match the file, on directories served by the real agent.
#include <algorithm>
#include <map>
#include <mutex>

#include "engine/core/json.h"
#include "engine/report/exit_code.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;
using test::kManifestFile;
using test::kProfileFile;
using test::kSysctlFile;
using test::standing;

constexpr auto kTwoSections =
    "sysctl: {vm.swappiness: 10, net.core.rmem_max: 256MiB}\n"
    "profile_env: {HF_HOME: /mnt/models/hf}\n";

std::string manifest_of(const FleetBench& bench, std::size_t node) { return bench.root(node).read(kManifestFile); }

Value member(const FleetBench& bench, std::size_t node, std::string_view key) {
  const auto manifest = decode_json(manifest_of(bench, node));
  REQUIRE(manifest);
  const auto* roster = manifest->find("roster");
  REQUIRE(roster != nullptr);
  const auto* value = roster->find(key);
  REQUIRE(value != nullptr);
  return *value;
}

}  // namespace

TEST_CASE("apply: the duration of a run does not include the time of its questions") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  auto asked = std::chrono::seconds(5);  // Before this run.
  bench.run.time_asking = [&asked] { return asked; };
  bench.options.approve = [&asked](const Report&) {
    asked += std::chrono::hours(1);
    return true;
  };
  const auto report = bench.apply();
  CHECK(standing(report) == "n1 applied");
  CHECK(report.duration.count() == 0);
  bench.options.approve = {};
  CHECK(bench.plan().duration.count() > 0);
}

TEST_CASE("a plan lists all changes and writes nothing") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  const auto before = bench.whole_trees();
  const auto report = bench.plan();
  CHECK(exit_of(report) == 0);
  CHECK(exit_code(report, ExitRules{true, false, false}) == ExitCode::kDifferent);
  CHECK(standing(report) == "n1 pending, n2 pending");
  CHECK(changes(report) ==
        std::vector<std::string>{"n1 create profile_env/HF_HOME config", "n1 create sysctl/net.core.rmem_max config",
                                 "n1 create sysctl/vm.swappiness config", "n2 create profile_env/HF_HOME config",
                                 "n2 create sysctl/net.core.rmem_max config", "n2 create sysctl/vm.swappiness config"});
  for (const auto& node : report.nodes) CHECK(node.membership == Membership::kJoining);
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("an apply makes all nodes match the file, and the next plan is empty") {
  FleetBench bench(3);
  bench.sections = kTwoSections;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 applied, n2 applied, n3 applied");
  for (const auto& node : report.nodes) {
    CHECK(node.outcomes.size() == 3);
    for (const auto& [id, outcome] : node.outcomes) CHECK(outcome == Outcome::kDone);
  }
  for (const std::size_t node : {1U, 2U, 3U}) {
    CHECK(bench.root(node).read(kSysctlFile).find("vm.swappiness = 10") != std::string::npos);
    CHECK(bench.root(node).read(kProfileFile).find("/mnt/models/hf") != std::string::npos);
    CHECK(bench.root(node).mode(kManifestFile) == 0600);
  }
  const auto next = bench.plan();
  CHECK(changes(next).empty());
  CHECK(standing(next) == "n1 in_sync, n2 in_sync, n3 in_sync");
  CHECK(exit_code(next, ExitRules{true, true, true}) == ExitCode::kDone);
}

TEST_CASE("a node is observed a second time only for new resources") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  bench.apply_all();
  std::mutex guard;
  std::map<std::string, int> observed;
  bench.run.progress = [&](const std::string& node, std::string_view doing, Activity) {
    const std::lock_guard lock(guard);
    if (doing == "observing") ++observed[node];
  };
  CHECK(changes(bench.plan()).empty());
  CHECK(observed.empty());
  bench.root(1).write(kSysctlFile, "vm.swappiness = 60\n");
  CHECK_FALSE(changes(bench.plan()).empty());
  CHECK(observed.empty());
  bench.sections = std::string(kTwoSections) + "limits: [{domain: root, item: nofile, type: both, value: 4096}]\n";
  CHECK(changes(bench.plan()).size() > 2);
  CHECK(observed == std::map<std::string, int>{{"n1", 1}, {"n2", 1}});
}

TEST_CASE("an apply reports every change as the plan did") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  const auto plan = bench.plan();
  const auto report = bench.apply();
  REQUIRE(exit_of(report) == 0);
  CHECK(changes(report) == changes(plan));
  for (const std::size_t node : {0U, 1U}) {
    CHECK(plan.nodes[node].plan.after_steps.size() == 3);
    CHECK(report.nodes[node].plan.after_steps == plan.nodes[node].plan.after_steps);
  }
}

TEST_CASE("an apply without changes asks no question and changes no byte") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  bench.apply_all();
  const auto before = bench.whole_trees();
  int asked = 0;
  bench.options.approve = [&](const Report&) { return ++asked > 0; };
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 in_sync, n2 in_sync");
  CHECK(asked == 0);
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("the user approves the whole plan once, and the answer no writes nothing") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  const auto before = bench.whole_trees();
  int asked = 0;
  bench.options.approve = [&](const Report& plan) {
    ++asked;
    CHECK(changes(plan).size() == 6);
    return false;
  };
  const auto report = bench.apply();
  CHECK(asked == 1);
  CHECK(bench.whole_trees() == before);
  for (const auto& node : report.nodes) CHECK(node.outcomes.empty());
  bench.options.approve = [](const Report&) { return true; };
  CHECK(exit_of(bench.apply()) == 0);
  CHECK(bench.whole_trees() != before);
}

TEST_CASE("a stop before the first write changes nothing") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  const auto before = bench.whole_trees();
  std::stop_source stop;
  bench.run.stop = stop.get_token();
  bench.run.agent.connect.stop = stop.get_token();
  bench.options.approve = [&](const Report&) { return stop.request_stop(); };
  const auto report = bench.apply();
  CHECK(report.interrupted);
  CHECK(bench.trees() == std::vector<std::map<std::string, std::string>>(2));
  for (const auto& node : report.nodes) {
    for (const auto& [id, outcome] : node.outcomes) CHECK(outcome == Outcome::kNotDone);
  }
  CHECK(before.size() == 2);
}

TEST_CASE("a change by hand is drift, and the next apply repairs it") {
  FleetBench bench(2);
  bench.sections = kTwoSections;
  bench.apply_all();
  const auto good = bench.trees();
  auto text = bench.root(2).read(kSysctlFile);
  text.replace(text.find("= 10"), 4, "= 99");
  bench.root(2).write(kSysctlFile, text);
  const auto plan = bench.plan();
  CHECK(standing(plan) == "n1 in_sync, n2 drifted");
  CHECK(changes(plan) == std::vector<std::string>{"n2 update sysctl/vm.swappiness drift"});
  CHECK(exit_code(plan, ExitRules{false, true, false}) == ExitCode::kDifferent);
  bench.apply_all();
  CHECK(bench.trees() == good);
}

TEST_CASE("a deleted file is restored") {
  FleetBench bench(1);
  bench.sections = kTwoSections;
  bench.apply_all();
  const auto good = bench.trees();
  bench.root(1).remove(kProfileFile);
  CHECK(changes(bench.plan()) == std::vector<std::string>{"n1 create profile_env/HF_HOME drift"});
  bench.apply_all();
  CHECK(bench.trees() == good);
}

TEST_CASE("a changed value in the file is pending, not drift") {
  FleetBench bench(1);
  bench.sections = kTwoSections;
  bench.apply_all();
  bench.sections = "sysctl: {vm.swappiness: 20, net.core.rmem_max: 256MiB}\nprofile_env: {HF_HOME: /mnt/models/hf}\n";
  CHECK(changes(bench.plan()) == std::vector<std::string>{"n1 update sysctl/vm.swappiness config"});
  bench.apply_all();
}

TEST_CASE("all nodes store the same roster, and its generation grows only with a change") {
  FleetBench bench(3);
  bench.left_out[2] = true;
  bench.sections = kTwoSections;
  bench.apply_all();
  const auto uuid = member(bench, 1, "uuid");
  CHECK(member(bench, 2, "uuid") == uuid);
  CHECK(member(bench, 1, "generation") == Value(1));
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.apply_all();
  CHECK(member(bench, 1, "generation") == Value(1));
  bench.left_out[2] = false;
  bench.apply_all();
  for (const std::size_t node : {1U, 2U, 3U}) {
    CHECK(member(bench, node, "uuid") == uuid);
    CHECK(member(bench, node, "generation") == Value(2));
    CHECK(member(bench, node, "members").list_items()->size() == 3);
  }
}

TEST_CASE("the outcome does not depend on the number of parallel nodes") {
  std::vector<std::vector<std::string>> seen;
  for (const std::size_t workers : {1U, 2U, 16U}) {
    FleetBench bench(4);
    bench.run.workers = workers;
    bench.sections = kTwoSections;
    bench.extra[1] = ", sysctl: {vm.swappiness: 77}";
    const auto report = bench.apply();
    CHECK(standing(report) == "n1 applied, n2 applied, n3 applied, n4 applied");
    seen.push_back(changes(report));
    for (const auto& tree : bench.trees()) {
      for (const auto& [path, content] : tree) seen.back().push_back(path + content);
    }
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);
}

TEST_CASE("every node reports progress, and its text is never empty") {
  FleetBench bench(3);
  bench.sections = kTwoSections;
  std::mutex mutex;
  std::map<std::string, int> told;
  bool empty = false;
  bench.run.progress = [&](const std::string& node, std::string_view doing, Activity) {
    const std::lock_guard lock(mutex);
    ++told[node];
    empty = empty || doing.empty();
  };
  bench.apply();
  CHECK(told.size() == 3);
  CHECK_FALSE(empty);
}

}  // namespace sparkplan
