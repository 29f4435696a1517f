// Rolling back the last run, from the nodes' journals.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/json.h"
#include "engine/core/shape.h"
#include "engine/core/text.h"
#include "engine/load/load.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
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

constexpr auto kFirst = "sysctl: {vm.swappiness: 10}\nprofile_env: {HF_HOME: /mnt/a}\n";
constexpr auto kSecond = "sysctl: {vm.swappiness: 20, net.core.rmem_max: 1MiB}\nprofile_env: {HF_HOME: /mnt/b}\n";

Report roll_back(FleetBench& bench, std::vector<std::string> nodes = {}) {
  bench.run.command = "rollback";
  bench.options.rollback = std::move(nodes);
  bench.options.allow_prune = true;
  auto report = bench.apply();
  bench.run.command = "apply";
  bench.options = {};
  return report;
}

bool says(const Report& report, std::string_view words) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.message.find(words) != std::string::npos; });
}

/// The manifest's managed resources, without the last run.
Value managed(const FleetBench& bench, std::size_t node) {
  const auto manifest = decode_json(bench.root(node).read(kManifestFile));
  REQUIRE(manifest);
  return Value::map({{"resources", *manifest->find("resources")}, {"artifacts", *manifest->find("artifacts")}});
}

}  // namespace

TEST_CASE("a rollback restores files and manifests to their state before the last run") {
  FleetBench bench(2);
  bench.sections = kFirst;
  bench.apply_all();
  const auto before = bench.trees();
  const auto managed_before = managed(bench, 1);
  bench.sections = kSecond;
  bench.apply_all();
  const auto report = roll_back(bench);
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 applied, n2 applied");
  CHECK(changes(report) ==
        std::vector<std::string>{"n1 update profile_env/HF_HOME config", "n1 remove sysctl/net.core.rmem_max config",
                                 "n1 update sysctl/vm.swappiness config", "n2 update profile_env/HF_HOME config",
                                 "n2 remove sysctl/net.core.rmem_max config", "n2 update sysctl/vm.swappiness config"});
  CHECK(bench.trees() == before);
  CHECK(managed(bench, 1) == managed_before);
  CHECK(says(report, "the next plan shows the difference as pending"));
  // Pending, not drift: the file asks for a state that was never applied to the node.
  const auto plan = bench.plan();
  CHECK(standing(plan) == "n1 pending, n2 pending");
  CHECK(exit_code(plan, ExitRules{false, true, false}) == ExitCode::kDone);
}

TEST_CASE("a rollback names the time of the undone run as the command shows times") {
  FleetBench bench(1);
  bench.sections = kFirst;
  bench.apply_all();
  std::string asked;
  bench.run.shown_time = [&asked](const std::string& utc) {
    asked = utc;
    return std::string("today 13:00");
  };
  const auto report = roll_back(bench);
  CHECK(asked.ends_with('Z'));
  CHECK(says(report, ", today 13:00) is undone on n1"));
}

TEST_CASE("a rollback of the first run leaves only the roster") {
  FleetBench bench(1);
  const auto before = bench.trees();
  bench.sections = kFirst;
  bench.apply_all();
  CHECK(exit_of(roll_back(bench)) == 0);
  CHECK(bench.trees() == before);
  CHECK(managed(bench, 1) == Value::map({{"resources", Value::map()}, {"artifacts", Value::map()}}));
  CHECK(bench.root(1).read(kManifestFile).find("\"n1\"") != std::string::npos);
}

TEST_CASE("a second rollback undoes the run before, and never the rollback") {
  FleetBench bench(1);
  const auto nothing = bench.trees();
  bench.sections = kFirst;
  bench.apply_all();
  const auto first = bench.trees();
  bench.sections = kSecond;
  bench.apply_all();
  CHECK(exit_of(roll_back(bench)) == 0);
  CHECK(bench.trees() == first);
  CHECK(exit_of(roll_back(bench)) == 0);
  CHECK(bench.trees() == nothing);
  const auto third = roll_back(bench);
  CHECK(exit_of(third) == 0);
  CHECK(standing(third) == "n1 skipped");
}

TEST_CASE("a resource changed since the run is kept and named, and all others are restored") {
  FleetBench bench(1);
  bench.sections = kFirst;
  bench.apply_all();
  const auto sysctl_before = bench.root(1).read(kSysctlFile);
  bench.sections = kSecond;
  bench.apply_all();
  bench.root(1).write(kProfileFile, "export MINE=1\n");
  const auto report = roll_back(bench);
  CHECK(exit_of(report) == 0);
  CHECK(says(report, std::string(kProfileFile) + " stays as it is: it was changed since"));
  CHECK(bench.root(1).read(kProfileFile) == "export MINE=1\n");
  CHECK(bench.root(1).read(kSysctlFile) == sysctl_before);
}

TEST_CASE("a rollback undoes the last run of most nodes, or with names the last run of each named node") {
  FleetBench bench(3);
  bench.sections = kFirst;
  bench.apply_all();
  bench.sections = kSecond;
  bench.run.selection = Selection({"n2", "n3"}, {});
  REQUIRE(exit_of(bench.apply()) == 0);
  bench.run.selection = {};
  const auto before = bench.trees();
  const auto report = roll_back(bench);
  CHECK(standing(report) == "n1 skipped, n2 applied, n3 applied");
  CHECK(says(report, " is not the last run on n1: nothing is undone there"));
  CHECK(bench.trees()[0] == before[0]);
  CHECK(exit_of(roll_back(bench, {"n1"})) == 0);
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
  CHECK(bench.root(2).exists(kSysctlFile));
}

TEST_CASE("a last run that half of the nodes or fewer report is undone only on named nodes") {
  FleetBench bench(4);
  bench.sections = kFirst;
  bench.apply_all();
  bench.sections = kSecond;
  bench.run.selection = Selection({"n3", "n4"}, {});
  REQUIRE(exit_of(bench.apply()) == 0);
  bench.run.selection = {};
  const auto before = bench.trees();
  const auto report = roll_back(bench);
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 refused, n2 refused, n3 refused, n4 refused");
  CHECK(report.nodes[0].error->message.find("on n[3-4]") != std::string::npos);
  CHECK(bench.trees() == before);
  CHECK(exit_of(roll_back(bench, {"n3"})) == 0);
  CHECK(bench.trees()[2] != before[2]);
}

TEST_CASE("a node that alone names a newer run is refused alone, and the run of most nodes is undone") {
  FleetBench bench(3);
  const auto before = bench.trees();
  bench.sections = kFirst;
  bench.apply_all();
  bench.sections = kSecond;
  bench.run.selection = Selection({"n3"}, {});
  REQUIRE(exit_of(bench.apply()) == 0);
  bench.run.selection = {};
  const auto third = bench.trees()[2];
  const auto report = roll_back(bench);
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 applied, n2 applied, n3 refused");
  CHECK(report.nodes[2].error->message.starts_with("only this node names "));
  CHECK(report.nodes[2].error->hint.find("sparkplan rollback n3") != std::string::npos);
  CHECK(bench.trees() == std::vector{before[0], before[1], third});
}

TEST_CASE("two nodes that name a newer run than most nodes may have taken part in it: nothing is undone") {
  FleetBench bench(5);
  bench.sections = kFirst;
  bench.apply_all();
  bench.sections = kSecond;
  bench.run.selection = Selection({"n4", "n5"}, {});
  REQUIRE(exit_of(bench.apply()) == 0);
  bench.run.selection = {};
  const auto before = bench.trees();
  CHECK(exit_of(roll_back(bench)) == 9);
  CHECK(bench.trees() == before);
}

TEST_CASE("a rollback lists its changes, and the answer no writes nothing") {
  FleetBench bench(1);
  bench.sections = kFirst;
  bench.apply_all();
  const auto before = bench.whole_trees();
  int asked = 0;
  bench.options.approve = [&](const Report& plan) {
    ++asked;
    CHECK(changes(plan).size() == 2);
    return false;
  };
  bench.options.rollback.emplace();
  bench.options.allow_prune = true;
  bench.run.command = "rollback";
  bench.apply();
  CHECK(asked == 1);
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("a rollback restores the drift that its run had repaired, and the next plan reports it") {
  FleetBench bench(1);
  bench.sections = kFirst;
  bench.apply_all();
  bench.root(1).write(kSysctlFile, "# by hand\nvm.swappiness = 77\n");
  bench.apply_all();
  const auto report = roll_back(bench);
  INFO(to_text(report, {}));
  CHECK(exit_of(report) == 0);
  CHECK(bench.root(1).read(kSysctlFile) == "# by hand\nvm.swappiness = 77\n");
  CHECK(standing(bench.plan()) == "n1 drifted");
}

TEST_CASE("a damaged journal of a later run stops a rollback and is named") {
  FleetBench bench(1);
  bench.sections = kFirst;
  bench.apply_all();
  const std::string broken = "/var/lib/sparkplan/journal/29990101T000000Z-abcdef.jsonl";
  bench.root(1).write(broken, "{\"time\":\"x\",\"event\":\"inte\nnonsense\n");
  const auto before = bench.trees();
  const auto report = roll_back(bench);
  CHECK(exit_of(report) == 4);
  REQUIRE(report.nodes[0].error);
  CHECK(report.nodes[0].error->message.find(broken) != std::string::npos);
  CHECK(bench.trees() == before);
}

namespace {

/// The journal as a node may forge it: its steps go from `before` to `after`, for these resources.
std::string forged(const std::string& journal, const std::string& before, const std::string& after,
                   const std::vector<std::string>& resources) {
  std::string text;
  for (const std::string_view line : split_lines(journal)) {
    auto entry = decode_json(line);
    REQUIRE(entry);
    if (entry->text_or("event", "") == "intent") {
      entry->find("before")->find("value")->set("content", before);
      entry->find("after")->find("value")->set("content", after);
      Value::Map managed;
      for (const std::string& id : resources) managed.push_back({id, Value()});
      entry->set("managed", std::move(managed));
      entry->set("resources", Value::List(resources.begin(), resources.end()));
    }
    text += encode_json(*entry) + "\n";
  }
  return text;
}

std::size_t bytes_shown(const Report& report) {
  std::size_t bytes = 0;
  for (const Change& change : report.nodes.at(0).plan.changes) {
    for (const FieldChange& field : change.fields) bytes += display(field.before).size() + display(field.after).size();
  }
  return bytes;
}

}  // namespace

TEST_CASE("a large text in a step for thousands of resources is copied into few changes of a rollback") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  bench.root(1).write(kSysctlFile, "vm.swappiness = 77\n");
  bench.apply_all();
  const auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  const std::string journal = "/var/lib/sparkplan/journal/" + manifest->text_or("last_run", "") + ".jsonl";
  const std::string after = "#" + std::string(std::size_t{512} << 10, 'a') + "\n";
  std::vector<std::string> resources;
  for (int i = 0; i < 2'000; ++i) resources.push_back("sysctl/kernel.p" + std::to_string(i));
  bench.root(1).write(journal, forged(bench.root(1).read(journal), "#" + after, after, resources));
  bench.root(1).write(kSysctlFile, after);
  std::optional<Report> planned;
  bench.options.approve = [&](const Report& plan) {
    planned = plan;
    return false;
  };
  bench.options.rollback.emplace();
  bench.run.command = "rollback";
  bench.apply();
  REQUIRE(planned);
  CHECK(planned->nodes.at(0).plan.changes.size() == resources.size());
  CHECK(bytes_shown(*planned) > after.size());
  CHECK(planned->nodes.at(0).plan.changes.back().note.starts_with("what it restores is not shown"));
  CHECK(bytes_shown(*planned) < std::size_t{8} << 20);
}

TEST_CASE("a text above the limit of a rollback's changes is not shown, also if it is the first one") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  bench.root(1).write(kSysctlFile, "vm.swappiness = 77\n");
  bench.apply_all();
  const auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  const std::string journal = "/var/lib/sparkplan/journal/" + manifest->text_or("last_run", "") + ".jsonl";
  const std::string large(Shape::kMostTextBytes, 'x');
  bench.root(1).write(journal, forged(bench.root(1).read(journal), large, "#\n", {"sysctl/kernel.p"}));
  bench.root(1).write(kSysctlFile, "#\n");
  std::optional<Report> planned;
  bench.options.approve = [&](const Report& plan) {
    planned = plan;
    return false;
  };
  bench.options.rollback.emplace();
  bench.run.command = "rollback";
  bench.apply();
  REQUIRE(planned);
  REQUIRE(planned->nodes.at(0).plan.changes.size() == 1);
  CHECK(planned->nodes.at(0).plan.changes.front().note.starts_with("what it restores is not shown"));
  CHECK(bytes_shown(*planned) < large.size());
}

TEST_CASE("of thousands of artifacts that a rollback leaves as they are, the first 1,000 of a node are named") {
  FleetBench bench(1);
  bench.root(1).make_directory("/etc");
  bench.sections = "files: [{path: /etc/small, content: a}]\n";
  bench.apply_all();
  const auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  const std::string journal = "/var/lib/sparkplan/journal/" + manifest->text_or("last_run", "") + ".jsonl";
  const std::string original = bench.root(1).read(journal);
  std::string text;
  for (const std::string_view line : split_lines(original)) {
    auto entry = decode_json(line);
    REQUIRE(entry);
    const auto event = entry->text_or("event", "");
    const bool of_step = event == "intent" || event == "result";
    for (int i = 0; i < (of_step ? 1'002 : 1); ++i) {
      if (of_step) entry->set("artifact", "file:/etc/small" + std::to_string(i));
      // Neither this state nor the planned one: changed since.
      if (event == "intent")
        entry->set("before", Value::map({{"state", "present"}, {"value", Value::map({{"content", "old"}})}}));
      text += encode_json(*entry) + "\n";
    }
  }
  bench.root(1).write(journal, text);
  const auto report = roll_back(bench);
  const auto is_kept = [](const Diagnostic& one) { return one.code == "rollback.kept"; };
  CHECK(std::ranges::count_if(report.diagnostics, is_kept) == 1'001);
  CHECK(says(report, "/etc/small0 stays as it is: it was changed since"));
  CHECK(says(report, "n1: 2 further artifacts stay as they are"));
}

}  // namespace sparkplan
