// A node's manifest has almost no influence on other machines.
#include <memory>
#include <mutex>

#include "engine/core/json.h"
#include "engine/fleet/session/departing_node.h"
#include "engine/remote/config/ssh_config.h"
#include "engine/report/exit_code.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;
using test::has_diagnostic;
using test::kManifestFile;
using test::kSysctlFile;
using test::ScratchDirectory;
using test::standing;

constexpr auto kSwappinessSection = "sysctl: {vm.swappiness: 10}\n";
constexpr auto kMachineId = "/etc/machine-id";

/// A cluster in sync that records the directory of each connection.
struct WatchedCluster {
  explicit WatchedCluster(std::size_t nodes) : bench(nodes) {
    for (std::size_t i = 1; i <= nodes; ++i) bench.root(i).write(kMachineId, std::string(31, '0') + std::to_string(i));
    bench.sections = kSwappinessSection;
    bench.apply_all();
    bench.run.agent.connector = [this](const NodeSpec& node, const ConnectOptions& options) {
      const std::lock_guard lock(mutex);
      contacted.insert(node.root.string());
      return connect(node, options);
    };
  }

  bool has_contacted(const ScratchDirectory& root) const { return contacted.contains(root.path().string()); }

  FleetBench bench;
  std::set<std::string> contacted;
  std::mutex mutex;
};

/// Rewrites the roster in a node's manifest as root on that node could.
void edit_roster(ScratchDirectory& root, const std::function<void(Roster&)>& edit) {
  auto manifest = decode_manifest(*decode_json(root.read(kManifestFile)));
  REQUIRE(manifest);
  edit(manifest->roster);
  root.write(kManifestFile, encode_json(encode(*manifest)));
}

RosterEntry ghost_in(const ScratchDirectory& root) {
  RosterEntry ghost;
  ghost.name = "ghost";
  ghost.id = 66;
  ghost.root = root.path().string();
  ghost.leaving = true;
  return ghost;
}

}  // namespace

TEST_CASE("departing: for a member that no apply has reached, the refusal names the command that removes it") {
  WatchedCluster cluster(2);
  for (const std::size_t number : {std::size_t{1}, std::size_t{2}}) {
    edit_roster(cluster.bench.root(number), [](Roster& roster) {
      RosterEntry mistyped;
      mistyped.name = "spark-03";
      mistyped.id = 3;
      mistyped.address = "10.0.0.133";
      mistyped.user = "nvidia";
      roster.members.push_back(mistyped);
    });
  }
  const Report report = cluster.bench.apply();
  REQUIRE(exit_of(report) == 9);
  const auto error = report.nodes.back().error;
  REQUIRE(error);
  CHECK(error->message.find("no apply has ever reached it") != std::string::npos);
  CHECK(error->hint == "to remove it from the cluster, run `sparkplan release spark-03 --forget`");
}

TEST_CASE("departing: a member in one manifest of three is a warning, never contacted and never copied") {
  WatchedCluster cluster(3);
  ScratchDirectory machine;
  machine.write("/etc/hostname", "victim\n");
  const auto before = machine.tree();
  edit_roster(cluster.bench.root(3), [&](Roster& roster) {
    roster.generation = 1000;
    roster.members.push_back(ghost_in(machine));
  });
  for (const bool consent : {false, true}) {
    cluster.bench.run.contact_departing = consent;
    const auto plan = cluster.bench.plan();
    CHECK(standing(plan) == "n1 in_sync, n2 in_sync, n3 in_sync");
    CHECK(exit_code(plan, ExitRules{true, true, true}) == ExitCode::kDone);
    CHECK(has_diagnostic(plan, "roster.unsupported-member"));
  }
  cluster.bench.options.allow_prune = true;
  cluster.bench.sections = "sysctl: {vm.swappiness: 20}\n";
  const auto applied = cluster.bench.apply();
  CHECK(exit_of(applied) == 0);
  CHECK(standing(applied) == "n1 applied, n2 applied, n3 applied");
  CHECK_FALSE(cluster.has_contacted(machine));
  CHECK(machine.tree() == before);
  for (const std::size_t number : {1U, 2U, 3U}) {
    CHECK(cluster.bench.root(number).read(kManifestFile).find("ghost") == std::string::npos);
  }
}

TEST_CASE("departing: a member in a single manifest is only a claim while the other nodes have no manifest") {
  WatchedCluster cluster(3);
  // Another cluster of the same name; the lying node knows its uuid and its member.
  FleetBench other(1);
  other.root(1).write(kMachineId, std::string(32, '9'));
  other.sections = kSwappinessSection;
  other.apply_all();
  const auto before = other.root(1).tree();
  auto theirs = decode_manifest(*decode_json(other.root(1).read(kManifestFile)));
  REQUIRE(theirs);
  edit_roster(cluster.bench.root(3), [&](Roster& roster) {
    RosterEntry stolen = theirs->roster.members.front();
    stolen.name = "stolen";
    stolen.leaving = true;
    roster = {"lab", theirs->roster.uuid, 5, {stolen}};
  });
  for (const std::size_t number : {1U, 2U}) {
    cluster.bench.root(number).remove("/var/lib/sparkplan");
    cluster.bench.root(number).remove(kSysctlFile);
  }
  cluster.bench.options.allow_prune = true;
  for (int run = 0; run < 2; ++run) {
    const auto applied = cluster.bench.apply();
    CHECK(exit_of(applied) == 0);
    CHECK(has_diagnostic(applied, "roster.unsupported-member"));
    CHECK_FALSE(cluster.has_contacted(other.root(1)));
    for (const std::size_t number : {1U, 2U}) {
      CHECK(cluster.bench.root(number).read(kManifestFile).find("stolen") == std::string::npos);
    }
  }
  CHECK(other.root(1).tree() == before);
}

TEST_CASE("departing: a machine of another cluster is forgotten and not changed, whatever uuid it reports") {
  WatchedCluster cluster(2);
  edit_roster(cluster.bench.root(2), [](Roster& roster) { roster.cluster = "theirs"; });
  cluster.bench.left_out[1] = true;
  cluster.bench.options.allow_prune = true;
  const auto before = cluster.bench.root(2).tree();
  const auto applied = cluster.bench.apply();
  CHECK(standing(applied) == "n1 in_sync, n2 released");
  CHECK(cluster.bench.root(2).tree() == before);
}

TEST_CASE(
    "departing: a machine of another cluster stays as it is if one manifest alone names the uuid of that cluster") {
  WatchedCluster cluster(4);
  const std::string theirs = "99999999-0000-4000-8000-000000000000";
  edit_roster(cluster.bench.root(1), [&](Roster& roster) { roster.uuid = theirs; });
  edit_roster(cluster.bench.root(4), [&](Roster& roster) { roster.uuid = theirs; });
  cluster.bench.left_out[3] = true;
  cluster.bench.options.allow_prune = true;
  const auto before = cluster.bench.root(4).tree();
  CHECK(standing(cluster.bench.apply()).ends_with("n4 released"));
  CHECK(cluster.bench.root(4).tree() == before);
}

TEST_CASE("departing: without consent no departed member is contacted, whatever the roster contains") {
  WatchedCluster cluster(2);
  edit_roster(cluster.bench.root(1), [](Roster& roster) { roster.members.at(1).leaving = true; });
  cluster.bench.left_out[1] = true;
  const auto before = cluster.bench.root(2).tree();
  CHECK(cluster.bench.plan().nodes.at(1).not_contacted);
  CHECK(standing(cluster.bench.apply()) == "n1 in_sync, n2 pending");
  CHECK_FALSE(cluster.has_contacted(cluster.bench.root(2)));
  CHECK(cluster.bench.root(2).tree() == before);
}

TEST_CASE("departing: a selection is not a consent to release the nodes that it leaves out") {
  WatchedCluster cluster(2);
  cluster.bench.left_out[1] = true;
  cluster.bench.sections = "sysctl: {vm.swappiness: 20}\n";
  cluster.bench.run.selection = Selection({"n1"}, {});
  CHECK(exit_of(cluster.bench.apply()) == 0);
  cluster.bench.run.selection = {};
  CHECK(exit_of(cluster.bench.apply()) == 9);
  CHECK(cluster.bench.root(2).exists(kManifestFile));
}

TEST_CASE("departing: with consent another machine in the member's place is not changed") {
  WatchedCluster cluster(2);
  cluster.bench.left_out[1] = true;
  cluster.bench.options.allow_prune = true;
  SECTION("another machine-id") {
    cluster.bench.root(2).write(kMachineId, std::string(32, 'f'));
    const auto before = cluster.bench.root(2).tree();
    const auto report = cluster.bench.apply();
    CHECK(exit_of(report) == 9);
    CHECK(standing(report) == "n1 in_sync, n2 refused");
    CHECK(report.nodes[1].error->message == "its machine-id differs from the one in the roster");
    CHECK(cluster.bench.root(2).tree() == before);
  }
  SECTION("no machine-id in the roster") {
    edit_roster(cluster.bench.root(1), [](Roster& roster) { roster.members.at(1).machine_id.clear(); });
    const auto before = cluster.bench.root(2).tree();
    const auto report = cluster.bench.apply();
    CHECK(exit_of(report) == 9);
    CHECK(standing(report) == "n1 in_sync, n2 refused");
    CHECK(report.nodes[1].error->message == "no machine-id is recorded for it in the roster");
    CHECK(report.nodes[1].error->hint == "put n2 back into the file and run `sparkplan release n2`");
    CHECK(cluster.bench.root(2).tree() == before);
  }
  SECTION("another name in its manifest") {
    auto manifest = decode_manifest(*decode_json(cluster.bench.root(2).read(kManifestFile)));
    manifest->node = "n7";
    cluster.bench.root(2).write(kManifestFile, encode_json(encode(*manifest)));
    const auto report = cluster.bench.apply();
    CHECK(standing(report) == "n1 in_sync, n2 refused");
    CHECK(report.nodes[1].error->message == "its manifest belongs to \"n7\"");
    CHECK(cluster.bench.root(2).exists(kSysctlFile));
  }
  SECTION("no manifest") {
    cluster.bench.root(2).remove("/var/lib/sparkplan");
    const auto before = cluster.bench.root(2).tree();
    CHECK(standing(cluster.bench.apply()) == "n1 in_sync, n2 released");
    CHECK(cluster.bench.root(2).tree() == before);
  }
}

TEST_CASE("departing: a user, jump host or directory that the file lacks is not used to reach a member") {
  const auto lab = [] {
    Cluster cluster;
    NodeSpec node{*NodeName::parse("n1"), 1, "10.0.0.1", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
    node.ssh.user = "nvidia";
    node.ssh.jump = "bastion";
    cluster.nodes.push_back(node);
    return cluster;
  }();
  const RosterEntry allowed{"n2", 2, "10.0.0.2", "nvidia", 22, "SHA256:b", "", "bastion", "sudo", "", false};
  REQUIRE(spec_of_departing(allowed, lab));
  CHECK(spec_of_departing(allowed, lab)->ssh.host_key.empty());
  CHECK(spec_of_departing(allowed, lab)->ssh.host_keys == HostKeyPolicy::kStrict);
  CHECK_FALSE(spec_of_departing(allowed, lab)->ssh.named_by_file);
  const auto with = [&](auto field, auto value) {
    RosterEntry entry = allowed;
    entry.*field = value;
    return spec_of_departing(entry, lab);
  };
  for (const auto& refused :
       {with(&RosterEntry::user, "root"), with(&RosterEntry::jump, "elsewhere"), with(&RosterEntry::root, "/"),
        with(&RosterEntry::root, "/srv/n2"), with(&RosterEntry::address, ""), with(&RosterEntry::address, "-oProxy=x"),
        with(&RosterEntry::port, std::uint16_t{0})}) {
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kRefused);
  }
}

TEST_CASE("departing: a member whose host key is missing from or differs in the roster is refused") {
  const RosterEntry entry{"n2", 2, "10.0.0.2", "nvidia", 22, "SHA256:b", "id", "", "sudo", "", false};
  FactsReply known;
  known.facts.machine_id = "id";
  known.manifest = Manifest{};
  known.manifest->node = "n2";
  CHECK(check_departing_machine(entry, "SHA256:b", known));
  CHECK_FALSE(check_departing_machine(entry, "SHA256:c", known));
  RosterEntry without = entry;
  without.host_key.clear();
  CHECK_FALSE(check_departing_machine(without, "", known));
}

TEST_CASE("departing: a member whose address is an alias is not reached by it, and the hint names the way that works") {
  WatchedCluster cluster(3);
  for (const std::size_t number : {1U, 2U}) {
    edit_roster(cluster.bench.root(number), [](Roster& roster) {
      roster.members.at(2).root.clear();
      roster.members.at(2).address = "old-spark";
      roster.members.at(2).host_key = "SHA256:b";
    });
  }
  cluster.bench.left_out[2] = true;
  cluster.bench.options.release = "n3";
  const auto code = GENERATE(ErrorCode::kUnreachable, ErrorCode::kUntrusted);
  cluster.bench.run.agent.connector = [code](const NodeSpec& node,
                                             const ConnectOptions& options) -> Result<std::unique_ptr<Connection>> {
    if (node.transport == TransportKind::kLocal) return connect(node, options);
    return failure(code, "no way");
  };
  const auto hint_with = [&](const std::string& text) {
    auto lines = parse_ssh_config(text, "~/.ssh/config");
    REQUIRE(lines);
    cluster.bench.run.agent.connect.config =
        std::make_shared<const SshConfig>(SshConfig{{{"~/.ssh/config", *std::move(lines)}}});
    const auto report = cluster.bench.apply();
    REQUIRE(report.nodes.size() == 3);
    REQUIRE(report.nodes[2].error);
    return report.nodes[2].error->hint;
  };
  const auto names = [](const std::string& hint, std::string_view part) {
    return hint.find(part) != std::string::npos;
  };
  for (const char* setting : {"HostName 10.0.0.9", "Port 2222", "ProxyJump gate", "HostKeyAlias spark"}) {
    INFO(setting);
    const auto hint = hint_with(std::string("Host old-spark\n") + setting + "\n");
    CHECK(names(hint, kAliasHint));
    CHECK(names(hint, kForgetHint) == (code == ErrorCode::kUnreachable));
  }
  CHECK_FALSE(names(hint_with("Host other\nHostName 10.0.0.9\nHost *\nIdentityFile ~/.ssh/lab\n"), kAliasHint));
}

TEST_CASE("departing: a directory that the file lacks is not opened, even with consent and every manifest") {
  WatchedCluster cluster(1);
  ScratchDirectory elsewhere;
  const auto inner = elsewhere.path() / "inner";
  std::filesystem::create_directory(inner);
  edit_roster(cluster.bench.root(1), [&](Roster& roster) {
    roster.members.push_back(ghost_in(elsewhere));
    roster.members.back().root = inner.string();
  });
  cluster.bench.options.allow_prune = true;
  const auto report = cluster.bench.apply();
  CHECK(standing(report) == "n1 in_sync, ghost refused");
  CHECK_FALSE(cluster.contacted.contains(inner.string()));
}

TEST_CASE("departing: a single node of another cluster is refused alone, the others continue") {
  WatchedCluster cluster(3);
  edit_roster(cluster.bench.root(3), [](Roster& roster) {
    roster.uuid = "another";
    roster.members.front().name = "m1";
  });
  cluster.bench.sections = "sysctl: {vm.swappiness: 20}\n";
  const auto report = cluster.bench.apply();
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 applied, n2 applied, n3 refused");
}

TEST_CASE("departing: a roster over its limits fails only its own node") {
  WatchedCluster cluster(2);
  const auto damage = GENERATE(as<std::string>{}, "\"generation\": 9223372036854775807", "\"generation\": -1");
  auto text = cluster.bench.root(2).read(kManifestFile);
  const auto at = text.find("\"generation\"");
  text.replace(at, text.find_first_of(",\n", at) - at, damage);
  cluster.bench.root(2).write(kManifestFile, text);
  CHECK(standing(cluster.bench.plan()) == "n1 in_sync, n2 failed");
  ScratchDirectory machine;
  cluster.bench.root(2).write(kManifestFile, cluster.bench.root(1).read(kManifestFile));
  edit_roster(cluster.bench.root(2), [&](Roster& roster) {
    for (int i = 0; i < 20'000; ++i) {
      roster.members.push_back(ghost_in(machine));
      roster.members.back().name += std::to_string(i);
    }
  });
  CHECK(standing(cluster.bench.plan()) == "n1 in_sync, n2 failed");
}

TEST_CASE("departing: a node that claims another node's machine-id is refused alone") {
  WatchedCluster cluster(2);
  cluster.bench.root(2).write(kMachineId, cluster.bench.root(1).read(kMachineId));
  cluster.bench.sections = "sysctl: {vm.swappiness: 20}\n";
  const auto report = cluster.bench.apply();
  CHECK(standing(report) == "n1 applied, n2 refused");
  CHECK(exit_of(report) == 9);
}

}  // namespace sparkplan
