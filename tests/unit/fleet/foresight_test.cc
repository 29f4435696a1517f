// A plan asks the nodes which of its changes will fail.
#include <filesystem>

#include "engine/core/json.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::FleetBench;
using test::kManifestFile;

constexpr auto kUnitFile = "/etc/systemd/system/tune.service";
constexpr const char* kUnits = "units: [{name: tune.service, content: \"[Service]\\nExecStart=/opt/tune\\n\"}]\n";

/// The warnings that are shown before the question whether to apply.
std::vector<Diagnostic> shown_before(FleetBench& bench) {
  std::vector<Diagnostic> shown;
  bench.options.approve = [&](const Report& planned) {
    shown = planned.diagnostics;
    return false;
  };
  (void)bench.apply();
  return shown;
}

}  // namespace

TEST_CASE("a change that will fail is a warning at its place in the file, before the user approves") {
  FleetBench bench(2);
  bench.sections = kUnits;
  bench.root(2).write("/opt/tune", "#!/bin/sh\n");
  std::filesystem::permissions(bench.root(2) / "/opt/tune", std::filesystem::perms::owner_all);
  const auto shown = shown_before(bench);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].severity == Severity::kWarning);
  CHECK(shown[0].code == "systemd_unit.no-program");
  CHECK(shown[0].node == "n1");
  CHECK(shown[0].file == "cluster.yaml");
  CHECK(shown[0].where.line == 3);
}

TEST_CASE("what the same plan brings is not missing") {
  FleetBench bench(1);
  bench.root(1).make_directory("/opt");
  bench.sections = std::string(kUnits) + "files: [{path: /opt/tune, content: \"#!/bin/sh\\n\", mode: \"0755\"}]\n";
  CHECK(shown_before(bench).empty());
}

TEST_CASE("findings: what the controller has found comes before what nodes report") {
  FleetBench bench(3);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  auto manifest = decode_manifest(*decode_json(bench.root(3).read(kManifestFile)));
  REQUIRE(manifest);
  manifest->roster.members.emplace_back(manifest->roster.members.front()).name = "ghost";
  bench.root(3).write(kManifestFile, encode_json(encode(*manifest), 1) + "\n");
  bench.sections += kUnits;
  const auto shown = shown_before(bench);
  REQUIRE(shown.size() == 4);
  CHECK(shown[0].code == "roster.unsupported-member");
  for (std::size_t i = 1; i < shown.size(); ++i) CHECK(shown[i].code == "systemd_unit.no-program");
}

TEST_CASE("a warning that a saved plan does not show leaves out only the change that will take no effect") {
  FleetBench bench(2);
  bench.sections = std::string(kUnits) + "sysctl: {vm.swappiness: 10}\n";
  for (const std::size_t node : {1U, 2U}) {
    bench.root(node).write("/opt/tune", "#!/bin/sh\n");
    std::filesystem::permissions(bench.root(node) / "/opt/tune", std::filesystem::perms::owner_all);
  }
  const SavedPlan plan = bench.saved_plan();
  bench.root(1).remove("/opt/tune");
  bench.options.saved_plan = &plan;
  const Report report = bench.apply();
  CHECK(test::exit_of(report) == 5);
  const auto& blocked = report.nodes.front().plan.blocked;
  REQUIRE(blocked.size() == 1);
  CHECK(blocked.front().id == ResourceId{"systemd_unit", "tune.service"});
  CHECK(blocked.front().error.message.starts_with("a finding is not in the plan: tune.service cannot start"));
  CHECK_FALSE(bench.root(1).exists(kUnitFile));
  CHECK(bench.root(1).exists(test::kSysctlFile));
  CHECK(bench.root(2).exists(kUnitFile));
}

TEST_CASE("findings over the limits leave out the changes that they are about in a saved plan, and no other") {
  FleetBench bench(1);
  std::string units = "units:\n";
  for (int i = 10; i < 50; ++i) {
    units += "  - {name: tune" + std::to_string(i) + ".service, content: \"[Service]\\nExecStart=/opt/tune" +
             std::to_string(i % 2) + "\\n\"}\n";
  }
  bench.sections = units + "sysctl: {vm.swappiness: 10}\n";
  for (const std::string program : {"/opt/tune0", "/opt/tune1"}) {
    bench.root(1).write(program, "#!/bin/sh\n");
    std::filesystem::permissions(bench.root(1) / program, std::filesystem::perms::owner_all);
  }
  const SavedPlan plan = bench.saved_plan();
  bench.root(1).remove("/opt/tune1");
  SECTION("of twenty units, which is not over them") {}
  SECTION("of forty units") { bench.root(1).remove("/opt/tune0"); }
  const bool all = !bench.root(1).exists("/opt/tune0");
  bench.options.saved_plan = &plan;
  const Report report = bench.apply();
  CHECK(test::exit_of(report) == 5);
  CHECK(report.nodes.front().plan.blocked.size() == (all ? 40U : 20U));
  CHECK(bench.root(1).exists("/etc/systemd/system/tune10.service") == !all);
  CHECK_FALSE(bench.root(1).exists("/etc/systemd/system/tune49.service"));
  CHECK(bench.root(1).exists(test::kSysctlFile));
}

TEST_CASE("drift does not ask") {
  FleetBench bench(1);
  bench.sections = kUnits;
  CHECK(bench.plan().diagnostics.empty());
}

}  // namespace sparkplan
