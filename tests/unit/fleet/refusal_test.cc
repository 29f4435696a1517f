// Nodes that cannot or must not take part, and the effect on the other nodes.
#include <algorithm>

#include "engine/core/json.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;
using test::has_diagnostic;
using test::kManifestFile;
using test::kSysctlFile;
using test::standing;

constexpr auto kSection = "sysctl: {vm.swappiness: 10}\n";
constexpr auto kOtherSection = "sysctl: {vm.swappiness: 20}\n";

/// Another controller's connection to a node, holding its lock.
AgentClient hold_lock(const FleetBench& bench, std::size_t number) {
  NodeSpec spec{*NodeName::parse("n"), 1, "", {}, TransportKind::kLocal, bench.root(number).path(), false, {}, {}, {}};
  auto client = AgentClient::open(spec, {}, {});
  REQUIRE(client);
  REQUIRE(client->lock({"anna@laptop", 4242, "apply", "2026-03-01T12:00:00Z"}));
  return std::move(*client);
}

}  // namespace

TEST_CASE("a node whose directory is missing fails alone, and all other nodes are finished") {
  FleetBench bench(3);
  bench.sections = kSection;
  bench.root(2).remove("/");
  const auto report = bench.apply();
  CHECK(exit_of(report) == 4);
  CHECK(standing(report) == "n1 applied, n2 unreachable, n3 applied");
  REQUIRE(report.nodes[1].error);
  CHECK(report.nodes[1].error->code == ErrorCode::kUnreachable);
  CHECK(bench.root(1).exists(kSysctlFile));
  CHECK(bench.root(3).exists(kSysctlFile));
}

TEST_CASE("two entries for one machine are exit 3 and not changed, and all other nodes are finished") {
  FleetBench bench(3);
  bench.sections = kSection;
  bench.root(1).write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  bench.root(3).write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  for (const bool planning : {true, false}) {
    const auto report = planning ? bench.plan() : bench.apply();
    CHECK(exit_of(report) == 3);
    REQUIRE(report.diagnostics.size() == 1);
    CHECK(report.diagnostics.front().message == "n1 and n3 have the same machine-id");
    CHECK(report.diagnostics.front().where.line == 7);
    CHECK(standing(report) == (planning ? "n1 failed, n2 pending, n3 failed" : "n1 failed, n2 applied, n3 failed"));
  }
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
  CHECK(bench.root(2).exists(kSysctlFile));
  CHECK_FALSE(bench.root(3).exists(kSysctlFile));
}

TEST_CASE("all-or-nothing writes nothing while a node is unreachable") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.options.all_or_nothing = true;
  bench.root(2).remove("/");
  CHECK(exit_of(bench.apply()) == 4);
  CHECK(bench.root(1).tree().empty());
}

TEST_CASE("all-or-nothing writes nothing if a node fails under the locks, and the report says that it did not begin") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.options.all_or_nothing = true;
  bench.options.approve = [&](const Report&) {
    bench.root(2).write(kManifestFile, "{");
    return true;
  };
  const auto report = bench.apply();
  CHECK(exit_of(report) != 0);
  REQUIRE(report.nodes[1].error);
  CHECK(report.not_begun);
  CHECK(bench.trees()[0].empty());
}

TEST_CASE("a held lock is exit 6, names its holder, and nothing is written anywhere") {
  FleetBench bench(3);
  bench.sections = kSection;
  const auto anna = hold_lock(bench, 2);
  const auto report = bench.apply();
  CHECK(exit_of(report) == 6);
  REQUIRE(report.nodes[1].error);
  CHECK(report.nodes[1].error->code == ErrorCode::kBusy);
  CHECK(report.nodes[1].error->message.find("anna@laptop") != std::string::npos);
  CHECK(report.nodes[1].error->hint.find("--exclude n2") != std::string::npos);
  CHECK(report.not_begun);
  for (const auto& tree : bench.trees()) CHECK(tree.empty());
  for (const std::size_t node : {1U, 2U, 3U}) CHECK_FALSE(bench.root(node).exists(kManifestFile));
}

TEST_CASE("a held lock on an excluded node does not block the other nodes") {
  FleetBench bench(3);
  bench.sections = kSection;
  const auto anna = hold_lock(bench, 2);
  bench.run.selection = Selection({}, {"n2"});
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 applied, n2 skipped, n3 applied");
  CHECK(bench.trees()[1].empty());
}

TEST_CASE("a held lock on a departing node does not block the other nodes") {
  FleetBench bench(3);
  bench.sections = kSection;
  bench.apply_all();
  bench.left_out[2] = true;
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  const auto anna = hold_lock(bench, 3);
  SECTION("an apply with consent") { bench.options.allow_prune = true; }
  SECTION("its release by name") { bench.options.release = "n3"; }
  const auto report = bench.apply();
  CHECK(exit_of(report) == 6);
  CHECK(standing(report) == "n1 applied, n2 applied, n3 failed");
}

TEST_CASE("a held lock does not block a plan, and the plan names its holder") {
  FleetBench bench(1);
  bench.sections = kSection;
  const auto anna = hold_lock(bench, 1);
  const auto report = bench.plan();
  CHECK(exit_of(report) == 0);
  CHECK(changes(report).size() == 1);
  CHECK(report.nodes[0].lock_holder.find("anna@laptop") != std::string::npos);
}

TEST_CASE("an apply waits for a lock that is released in time") {
  FleetBench bench(2);
  bench.sections = kSection;
  auto anna = std::make_optional(hold_lock(bench, 2));
  bench.options.lock_timeout = std::chrono::seconds(30);
  bench.run.progress = [&](const std::string& node, std::string_view doing, Activity) {
    // After a node's observation the run is about to request its locks.
    if (node == "n2" && doing == "observed") anna.reset();
  };
  CHECK(exit_of(bench.apply()) == 0);
  CHECK(bench.root(2).exists(kSysctlFile));
}

TEST_CASE("after a run every lock is free") {
  FleetBench bench(2);
  bench.sections = kSection;
  CHECK(exit_of(bench.apply()) == 0);
  for (const std::size_t node : {1U, 2U}) hold_lock(bench, node);
}

TEST_CASE("a departed node without consent is exit 9, and nothing is written on any node") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.apply_all();
  const auto before = bench.whole_trees();
  bench.left_out[1] = true;
  bench.sections = kOtherSection;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 9);
  REQUIRE(report.nodes.size() == 2);
  CHECK(report.nodes[1].name == "n2");
  CHECK(report.nodes[1].membership == Membership::kLeaving);
  CHECK(report.nodes[1].error->code == ErrorCode::kRefused);
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("a node in maintenance is skipped and not contacted") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.extra[1] = ", maintenance: true";
  bench.root(2).remove("/");
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 applied, n2 skipped");
  bench.extra[1] = "";
  std::filesystem::create_directory(bench.root(2).path());
  CHECK(standing(bench.plan()) == "n1 in_sync, n2 pending");
}

TEST_CASE("a node of another cluster is refused and not changed") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.left_out[1] = true;
  bench.apply_all();
  const auto before = bench.root(1).tree();
  bench.left_out[1] = false;
  bench.cluster_name = "other";
  bench.sections = kOtherSection;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 9);
  CHECK(report.nodes[0].status == NodeStatus::kRefused);
  CHECK(report.nodes[0].error->message.find("cluster lab") != std::string::npos);
  CHECK(bench.root(1).tree() == before);
  CHECK(report.nodes[1].status == NodeStatus::kApplied);
}

TEST_CASE("nodes of two clusters with one name are all refused") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.left_out = {false, true};
  bench.apply_all();
  bench.left_out = {true, false};
  bench.apply_all();
  bench.left_out = {false, false};
  const auto before = bench.whole_trees();
  bench.sections = kOtherSection;
  CHECK(exit_of(bench.apply()) == 9);
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("a node that an apply with --only has added is a member like all others") {
  FleetBench bench(3);
  bench.sections = kSection;
  bench.left_out = {false, false, true};
  bench.apply_all();
  bench.left_out = {false, false, false};
  bench.run.selection = Selection({"n3"}, {});
  const auto alone = bench.apply();
  CHECK(exit_of(alone) == 0);
  CHECK(has_diagnostic(alone, "roster.new-cluster"));
  bench.run.selection = {};
  const auto together = bench.apply();
  CHECK(exit_of(together) == 0);
  CHECK(standing(together) == "n1 in_sync, n2 in_sync, n3 in_sync");
  const auto manifest_of = [&](std::size_t number) { return *decode_json(bench.root(number).read(kManifestFile)); };
  const Value roster = *manifest_of(1).find("roster");
  CHECK(*manifest_of(3).find("roster") == roster);
  CHECK(*manifest_of(2).find("roster") == roster);
}

TEST_CASE("nodes that were applied one by one, each with --only, become one cluster") {
  FleetBench bench(2);
  bench.sections = kSection;
  for (const char* name : {"n1", "n2"}) {
    bench.run.selection = Selection({name}, {});
    CHECK(exit_of(bench.apply()) == 0);
  }
  bench.run.selection = {};
  bench.apply_all();
  CHECK_FALSE(has_diagnostic(bench.plan(), "roster.new-cluster"));
}

TEST_CASE("a node that an apply with --only has added is released as it was before sparkplan") {
  FleetBench bench(3);
  bench.sections = kSection;
  bench.left_out = {false, false, true};
  bench.apply_all();
  bench.left_out[2] = false;
  bench.run.selection = Selection({"n3"}, {});
  CHECK(exit_of(bench.apply()) == 0);
  bench.run.selection = {};
  bench.left_out[2] = true;
  bench.options.release = "n3";
  bench.options.released_entry =
      NodeSpec{*NodeName::parse("n3"), 3, "", {}, TransportKind::kLocal, bench.root(3).path(), false, {}, {}, {}};
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 in_sync, n2 in_sync, n3 released");
  CHECK_FALSE(bench.root(3).exists(kSysctlFile));
  CHECK_FALSE(bench.root(3).exists(kManifestFile));
}

TEST_CASE("an apply that changes the members, too, joins a node that an apply with --only has added") {
  FleetBench bench(4);
  bench.sections = kSection;
  bench.left_out = {false, false, true, true};
  bench.apply_all();
  bench.left_out = {false, false, false, true};
  bench.run.selection = Selection({"n3"}, {});
  CHECK(exit_of(bench.apply()) == 0);
  bench.run.selection = {};
  // n2 leaves, and n4 comes.
  bench.left_out = {false, true, false, false};
  bench.options.allow_prune = true;
  CHECK(standing(bench.apply()) == "n1 in_sync, n3 in_sync, n4 applied, n2 released");
  CHECK(standing(bench.plan()) == "n1 in_sync, n3 in_sync, n4 in_sync");
}

TEST_CASE("an apply that begins a cluster names the nodes whose manifests it has not read") {
  FleetBench bench(3);
  bench.sections = kSection;
  CHECK_FALSE(has_diagnostic(bench.plan(), "roster.new-cluster"));
  bench.extra = {"", ", maintenance: true", ""};
  const auto planned = bench.plan();
  const auto warning = std::ranges::find(planned.diagnostics, "roster.new-cluster", &Diagnostic::code);
  REQUIRE(warning != planned.diagnostics.end());
  CHECK(warning->message.find("not read: n2") != std::string::npos);
  CHECK(exit_of(bench.apply()) == 0);
  CHECK_FALSE(has_diagnostic(bench.plan(), "roster.new-cluster"));
}

TEST_CASE("a damaged manifest fails its node and is named") {
  FleetBench bench(2);
  bench.sections = kSection;
  bench.apply_all();
  bench.root(1).write(kManifestFile, "{");
  bench.sections = kOtherSection;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 4);
  CHECK(standing(report) == "n1 failed, n2 applied");
  CHECK(report.nodes[0].error->describe().find(kManifestFile) != std::string::npos);
}

TEST_CASE("with --only the selected resources are applied, and all others stay pending") {
  FleetBench bench(2);
  bench.sections = "sysctl: {vm.swappiness: 10, vm.max_map_count: 1048576}\nprofile_env: {A: b}\n";
  bench.run.selection = Selection({"n1/sysctl/vm.swappiness"}, {});
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(report.partial);
  CHECK(changes(report) == std::vector<std::string>{"n1 create sysctl/vm.swappiness config"});
  CHECK(standing(report) == "n1 applied, n2 skipped");
  CHECK(bench.root(1).read(kSysctlFile).find("max_map_count") == std::string::npos);
  CHECK(bench.root(2).tree().empty());
  bench.run.selection = {};
  CHECK(changes(bench.plan()) ==
        std::vector<std::string>{"n1 create profile_env/A config", "n1 create sysctl/vm.max_map_count config",
                                 "n2 create profile_env/A config", "n2 create sysctl/vm.max_map_count config",
                                 "n2 create sysctl/vm.swappiness config"});
  bench.apply_all();
}

TEST_CASE("a failed write on one node is exit 4, and all other nodes are finished") {
  FleetBench bench(2);
  bench.sections = "sysctl: {vm.swappiness: 10}\nprofile_env: {A: b}\n";
  bench.root(1).make_directory(kSysctlFile);
  const auto report = bench.apply();
  CHECK(exit_of(report) != 0);
  CHECK(report.nodes[0].status == NodeStatus::kFailed);
  CHECK(report.nodes[1].status == NodeStatus::kApplied);
  // The steps of another type are another group.
  CHECK(bench.root(1).exists(test::kProfileFile));
  CHECK(std::filesystem::is_directory(bench.root(1) / kSysctlFile));
}

TEST_CASE("a resource that needs a failed one is not applied and not reported as applied") {
  FleetBench bench(1);
  bench.sections =
      "storage: [{target: /mnt/models, source: {nvme_tcp: {address: 10.0.0.9, subsystem: models}}, type: ext4}]\n";
  // This file blocks every unit.
  bench.root(1).write("/etc/systemd", "");
  const auto report = bench.apply();
  CHECK(exit_of(report) == 4);
  const auto& outcomes = report.nodes[0].outcomes;
  CHECK(outcomes.at({"nvme_tcp", "models"}) == Outcome::kFailed);
  CHECK(outcomes.at({"mount", "/mnt/models"}) == Outcome::kNotDone);
}

}  // namespace sparkplan
