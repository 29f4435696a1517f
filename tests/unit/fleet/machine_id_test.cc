// A machine-id is only what a node reports: no member takes it from another one.
#include <algorithm>
#include <iterator>

#include "engine/core/json.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;
using test::kManifestFile;
using test::ScratchDirectory;
using test::standing;

constexpr auto kMachineIdFile = "/etc/machine-id";

std::string id_of(std::size_t number) { return std::string(31, '0') + std::to_string(number); }

/// Three members in sync, with a change to make.
FleetBench three_members() {
  FleetBench bench(3);
  for (const std::size_t number : {1U, 2U, 3U}) bench.root(number).write(kMachineIdFile, id_of(number) + "\n");
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  return bench;
}

Manifest manifest_in(const ScratchDirectory& root) {
  auto manifest = decode_manifest(*decode_json(root.read(kManifestFile)));
  REQUIRE(manifest);
  return *std::move(manifest);
}

/// "000...1 000...2 000...3": the machine-ids in the node's manifest, by the members' numbers.
std::vector<std::string> recorded_on(const FleetBench& bench, std::size_t number) {
  std::vector<std::string> ids;
  for (const RosterEntry& member : manifest_in(bench.root(number)).roster.members) ids.push_back(member.machine_id);
  return ids;
}

const std::vector<std::string> kHonest{id_of(1), id_of(2), id_of(3)};

}  // namespace

TEST_CASE("machine-id: one that changes during the run is refused alone and recorded nowhere") {
  FleetBench bench = three_members();
  bench.options.approve = [&](const Report&) {
    bench.root(1).write(kMachineIdFile, id_of(2) + "\n");
    return true;
  };
  const auto report = bench.apply();
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 refused, n2 applied, n3 applied");
  CHECK(report.nodes[0].error->message.starts_with("its machine-id changed during the run"));
  for (const std::size_t number : {1U, 2U, 3U}) CHECK(recorded_on(bench, number) == kHonest);
  // The false id harms no other node in the next run.
  bench.options.approve = {};
  CHECK(standing(bench.apply()) == "n1 refused, n2 in_sync, n3 in_sync");
}

TEST_CASE("machine-id: a member that forges its manifest takes none over from a member that is not in the run") {
  FleetBench bench = three_members();
  bench.root(1).write(kMachineIdFile, id_of(2) + "\n");
  Manifest forged = manifest_in(bench.root(1));
  for (RosterEntry& member : forged.roster.members) {
    member.machine_id = member.name == "n1" ? id_of(2) : std::string(32, 'f');
  }
  bench.root(1).write(kManifestFile, encode_json(encode(forged)));
  bench.run.selection = Selection({"n1", "n3"}, {});
  CHECK(exit_of(bench.apply()) == 0);
  CHECK(recorded_on(bench, 3) == kHonest);
  bench.run.selection = {};
  CHECK(standing(bench.apply()) == "n1 refused, n2 applied, n3 in_sync");
}

TEST_CASE("machine-id: one that a single manifest has for a node that is not read is written into no other manifest") {
  FleetBench bench(4);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  for (std::size_t i = 1; i <= 4; ++i) bench.root(i).write(kMachineIdFile, id_of(i) + "\n");
  bench.left_out = {false, true, true, true};
  bench.apply_all();
  Manifest forged = manifest_in(bench.root(1));
  RosterEntry second = forged.roster.members.front();
  second.name = "n2";
  second.id = 2;
  second.machine_id = id_of(3);
  second.root = bench.root(2).path().string();
  forged.roster.members.push_back(second);
  bench.root(1).write(kManifestFile, encode_json(encode(forged)));
  bench.left_out = {false, false, false, false};
  bench.extra[1] = ", maintenance: true";
  CHECK(standing(bench.apply()) == "n1 in_sync, n2 skipped, n3 refused, n4 applied");
  for (const RosterEntry& member : manifest_in(bench.root(4)).roster.members) {
    INFO(member.name);
    const bool was_read = member.name == "n1" || member.name == "n4";
    CHECK(member.machine_id.empty() == !was_read);
  }
  // Without that manifest, the refusal ends.
  bench.extra[0] = ", maintenance: true";
  CHECK(standing(bench.apply()) == "n1 skipped, n2 skipped, n3 applied, n4 in_sync");
}

TEST_CASE("machine-id: a manifest that keeps the id of a joining node from being recorded is named") {
  FleetBench bench = three_members();
  // As after n2 has joined: no manifest has its id yet.
  for (const std::size_t number : {1U, 2U, 3U}) {
    Manifest manifest = manifest_in(bench.root(number));
    for (RosterEntry& member : manifest.roster.members) {
      if (member.name == "n2") member.machine_id.clear();
      if (member.name == "n3" && number == 1) member.machine_id = id_of(2);
    }
    bench.root(number).write(kManifestFile, encode_json(encode(manifest)));
  }
  const auto disputes = [](const Report& report) {
    std::vector<Diagnostic> found;
    std::ranges::copy_if(report.diagnostics, std::back_inserter(found),
                         [](const Diagnostic& one) { return one.code == "roster.disputed-id"; });
    return found;
  };
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  const auto found = disputes(report);
  REQUIRE(found.size() == 1);
  CHECK(found[0].node == "n1");
  CHECK(
      found[0].message.starts_with("the manifest of n1 records machine-ids for other members: the id of n2 for n3; "));
  CHECK(recorded_on(bench, 3) == std::vector<std::string>{id_of(1), "", id_of(3)});
  // The apply has corrected the manifest of n1, so the next one records the id.
  const auto next = bench.apply();
  CHECK(exit_of(next) == 0);
  CHECK(disputes(next).empty());
  CHECK(recorded_on(bench, 3) == kHonest);
}

}  // namespace sparkplan
