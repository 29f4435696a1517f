// Resources that only one node may use at a time: the other nodes are asked during planning, and again under the locks.
#include <algorithm>
#include <utility>

#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;
using test::kManifestFile;
using test::standing;

constexpr auto kUnit = "/etc/systemd/system/mnt-a.mount";
constexpr auto kMemoryUnit = "/etc/systemd/system/mnt-m.mount";
constexpr auto kFstab = "/etc/fstab";

/// Three nodes; the first is declared as the writer of a volume that all can reach.
class OthersBench : public FleetBench {
 public:
  OthersBench() : FleetBench(3) {
    extra[0] =
        ", storage: [{target: /mnt/a, type: ext4, source: {device: UUID=aa}},"
        " {target: /mnt/m, source: {tmpfs: {size: 1MiB}}}]";
  }
  /// Runs while the user reads the plan.
  void meanwhile(std::function<void()> happens) {
    options.approve = [happens = std::move(happens)](const Report&) {
      happens();
      return true;
    };
  }
  std::string first_error(const Report& report) const {
    return report.nodes.front().error ? report.nodes.front().error->message : "";
  }
};

/// True for a finding about the first node.
bool has_finding(const Report& report, const std::string& code) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [&](const Diagnostic& finding) { return finding.code == code && finding.node == "n1"; });
}

constexpr auto kNobodyCanTell =
    "the nodes' data for mount changed since the plan was made: cannot determine whether n2 still writes to ";

void check_only_the_first_failed(const Report& report) {
  CHECK(exit_of(report) == 3);
  CHECK(has_finding(report, "mount.other-writer"));
  CHECK(standing(report) == "n1 failed, n2 applied, n3 applied");
  CHECK(report.nodes.front().error->code == ErrorCode::kStalePlan);
}

}  // namespace

TEST_CASE("others: with all nodes answering and unchanged, a volume is mounted") {
  OthersBench bench;
  CHECK(standing(bench.apply()) == "n1 applied, n2 in_sync, n3 in_sync");
  CHECK(bench.root(1).exists(kUnit));
}

TEST_CASE("others: a finding about several nodes is reported once") {
  FleetBench bench(3);
  bench.sections = "hosts: {}\n";
  const Report plan = bench.plan();
  std::vector<std::string> messages;
  for (const Diagnostic& finding : plan.diagnostics) {
    if (finding.code == "hosts.no-address") messages.push_back(finding.message);
  }
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].starts_with("nodes n[1-3] get no names in /etc/hosts: "));
}

TEST_CASE("others: a node that became silent after the plan counts as a writer") {
  OthersBench bench;
  SECTION("the node cannot be locked") {
    bench.meanwhile([&] { bench.root(2).remove("/"); });
  }
  SECTION("the node is locked and does not answer") {
    bench.root(2).write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    bench.meanwhile([&] { bench.root(2).write(kManifestFile, "{"); });
  }
  SECTION("the node answers without the devices that it writes to") {
    bench.meanwhile([&] { bench.root(2).make_directory(kFstab); });
  }
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(exit_of(report) != 0);
  REQUIRE(report.nodes.front().error);
  CHECK(report.nodes.front().error->code == ErrorCode::kStalePlan);
  CHECK(bench.first_error(report).starts_with(kNobodyCanTell));
  CHECK_FALSE(bench.root(1).exists(kUnit));
  CHECK(bench.root(1).exists(kMemoryUnit));
}

TEST_CASE("others: a node with refused sections counts as silent, and the plan lists the consequence") {
  OthersBench bench;
  bench.sections = "fabric: {topology: custom}\n";
  for (const std::size_t node : {1U, 2U, 3U}) {
    bench.extra[node - 1] +=
        ", fabric: {interfaces: [{name: eth1, address: 192.168.100." + std::to_string(node) + "/24}]}";
  }
  bench.root(2).write("/etc/netplan/50-theirs.yaml",
                      "network: {version: 2, ethernets: {eth1: {addresses: [10.9.0.2/24]}}}\n");
  const Report planned = bench.plan();
  INFO(to_text(planned, {}));
  REQUIRE(planned.nodes[1].error);
  CHECK(planned.nodes[1].error->code == ErrorCode::kRefused);
  CHECK(has_finding(planned, "mount.maybe-other-writer"));
  const Report report = bench.apply();
  CHECK(report.nodes.front().status == NodeStatus::kApplied);
  CHECK_FALSE(bench.root(1).exists(kUnit));
  CHECK(bench.root(1).exists(kMemoryUnit));
}

TEST_CASE("others: a failed node still counts as a writer of the volumes that it reported") {
  OthersBench bench;
  bench.apply_all();
  // n1 already has the unit, so nodes that only became silent raise no doubt about it.
  bench.extra[0].replace(bench.extra[0].find("type: ext4"), 10, "type: ext4, options: [noatime]");
  bench.root(2).write(kFstab, "UUID=aa /mnt/b ext4 defaults 0 0\n");
  SECTION("refused for another reason when the plan was made") {
    bench.root(2).write("/etc/netplan/50-theirs.yaml",
                        "network: {version: 2, ethernets: {eth1: {addresses: [10.9.0.2/24]}}}\n");
    bench.sections = "fabric: {topology: custom}\n";
    for (const std::size_t node : {1U, 2U, 3U}) {
      bench.extra[node - 1] +=
          ", fabric: {interfaces: [{name: eth1, address: 192.168.100." + std::to_string(node) + "/24}]}";
    }
    const Report planned = bench.plan();
    REQUIRE(planned.nodes[1].error);
    CHECK(has_finding(planned, "mount.other-writer"));
  }
  SECTION("silent since the plan") {
    // Unrelated changes are carried out.
    bench.extra[0].insert(bench.extra[0].rfind(']'), ", {target: /mnt/n, source: {tmpfs: {size: 1MiB}}}");
    bench.meanwhile([&] { bench.root(2).remove("/"); });
  }
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(report.nodes[1].error);
  CHECK(has_finding(report, "mount.other-writer"));
  CHECK(bench.root(1).read(kUnit).find("noatime") == std::string::npos);
  CHECK(bench.root(1).exists("/etc/systemd/system/mnt-n.mount") == (bench.options.approve != nullptr));
}

TEST_CASE("others: a departing node that became silent makes the plan stale") {
  OthersBench bench;
  const std::string storage = std::exchange(bench.extra[0], "");
  bench.sections = "sysctl: {net.core.somaxconn: 8192}\n";
  bench.apply_all();
  bench.extra[0] = storage;
  bench.left_out[2] = true;
  bench.options.allow_prune = true;
  bench.meanwhile([&] { bench.root(3).remove("/"); });
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  REQUIRE(report.nodes.front().error);
  CHECK(report.nodes.front().error->code == ErrorCode::kStalePlan);
  CHECK_FALSE(bench.root(1).exists(kUnit));
  // The user now sees the finding.
  const Report again = bench.plan();
  CHECK(has_finding(again, "mount.maybe-other-writer"));
  CHECK(again.nodes.front().status == NodeStatus::kPending);
}

TEST_CASE("others: a new writer keeps a volume from being mounted elsewhere, and nothing else from being applied") {
  OthersBench bench;
  bench.sections = "sysctl: {net.core.somaxconn: 8192}\n";
  // A directory of the volume, and one that does not need it.
  bench.extra[0].insert(bench.extra[0].rfind(']'), ", {target: /mnt/b, source: {bind: /mnt/a/data}}");
  bench.meanwhile([&] { bench.root(2).write(kFstab, "UUID=aa /mnt/c ext4 defaults 0 0\n"); });
  SECTION("the other changes are made") {
    const Report report = bench.apply();
    INFO(to_text(report, {}));
    // The finding says what is wrong, as in a plan.
    check_only_the_first_failed(report);
    CHECK(bench.first_error(report).starts_with(
        "the nodes' data for mount changed since the plan was made: n2 would write again, through /etc/fstab:1,"));
    const auto& outcomes = report.nodes.front().outcomes;
    CHECK(outcomes.at({"mount", "/mnt/a"}) == Outcome::kFailed);
    CHECK(outcomes.at({"mount", "/mnt/b"}) != Outcome::kDone);
    CHECK(outcomes.at({"mount", "/mnt/m"}) == Outcome::kDone);
    CHECK_FALSE(bench.root(1).exists(kUnit));
    CHECK_FALSE(bench.root(1).exists("/etc/systemd/system/mnt-b.mount"));
    CHECK(bench.root(1).exists(kMemoryUnit));
    CHECK(bench.root(1).exists(test::kSysctlFile));
    CHECK(bench.root(1).exists(kManifestFile));
  }
  SECTION("with all-or-nothing no change is made") {
    bench.options.all_or_nothing = true;
    const Report report = bench.apply();
    CHECK(exit_of(report) != 0);
    for (const std::size_t node : {1U, 2U, 3U}) CHECK_FALSE(bench.root(node).exists(test::kSysctlFile));
  }
}

TEST_CASE("others: a new writer keeps a volume of a saved plan from being mounted, and nothing else") {
  OthersBench bench;
  bench.sections = "sysctl: {net.core.somaxconn: 8192}\n";
  const SavedPlan plan = bench.saved_plan();
  bench.root(2).write(kFstab, "UUID=aa /mnt/c ext4 defaults 0 0\n");
  bench.options.saved_plan = &plan;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  check_only_the_first_failed(report);
  CHECK(bench.first_error(report).starts_with("a finding is not in the plan: n2 would write again, "));
  CHECK_FALSE(bench.root(1).exists(kUnit));
  CHECK(bench.root(1).exists(kMemoryUnit));
  CHECK(bench.root(1).exists(test::kSysctlFile));
}

TEST_CASE("others: a node that became silent keeps a volume of a saved plan from being mounted, and nothing else") {
  OthersBench bench;
  bench.sections = "sysctl: {net.core.somaxconn: 8192}\n";
  const SavedPlan plan = bench.saved_plan();
  SECTION("the node does not answer") { bench.root(2).remove("/"); }
  SECTION("the node answers without the devices that it writes to") { bench.root(2).make_directory(kFstab); }
  SECTION("the node reports more devices than are accepted") {
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "UUID=" + std::to_string(i) + " /mnt/c ext4 defaults 0 0\n";
    bench.root(2).write(kFstab, lines);
  }
  bench.options.saved_plan = &plan;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(has_finding(report, "mount.maybe-other-writer"));
  CHECK(bench.first_error(report).starts_with(
      "a finding is not in the plan: cannot determine whether n2 still writes to "));
  CHECK_FALSE(bench.root(1).exists(kUnit));
  CHECK(bench.root(1).exists(kMemoryUnit));
  CHECK(bench.root(1).exists(test::kSysctlFile));
  CHECK(bench.root(3).exists(test::kSysctlFile));
}

TEST_CASE(
    "others: a claim to a node's NVMe identity leaves all its new connections out of a saved plan, and says why") {
  FleetBench bench(2);
  const auto volume = [](const std::string& name) {
    return "{target: /mnt/" + name + ", type: ext4, source: {nvme_tcp: {address: 10.0.0.9, subsystem: " + name + "}}}";
  };
  bench.extra[0] = ", storage: [" + volume("a") + ", " + volume("b") + "]";
  bench.extra[1] = ", storage: [" + volume("c") + "]";
  bench.sections = "sysctl: {net.core.somaxconn: 8192}\n";
  const auto claim = [&](std::size_t number, const std::string& uuid) {
    bench.root(number).write("/etc/nvme/hostnqn", "nqn.2014-08.org.nvmexpress:uuid:" + uuid + "\n");
  };
  claim(1, "11111111-1111-4111-8111-111111111111");
  claim(2, "22222222-2222-4222-8222-222222222222");
  const SavedPlan plan = bench.saved_plan();
  claim(2, "11111111-1111-4111-8111-111111111111");
  bench.options.saved_plan = &plan;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  for (const std::string name : {"a", "b"}) {
    INFO(name);
    const ResourceId connection{"nvme_tcp", name};
    CHECK(std::any_of(report.diagnostics.begin(), report.diagnostics.end(), [&](const Diagnostic& one) {
      return one.node == "n1" && one.code == "plan.stale" &&
             one.message.find(connection.words() + ": a finding is not in the plan: n1 and n2 are the same host") !=
                 std::string::npos;
    }));
    const auto& blocked = report.nodes.front().plan.blocked;
    const auto mount = std::find_if(blocked.begin(), blocked.end(), [&](const BlockedResource& one) {
      return one.id == ResourceId{"mount", "/mnt/" + name};
    });
    REQUIRE(mount != blocked.end());
    CHECK(mount->error.message ==
          "needs nvme_tcp/" + name + ", which is left unchanged: its desired state is not known");
  }
  CHECK_FALSE(bench.root(1).exists(kUnit));
  CHECK(bench.root(1).exists(test::kSysctlFile));
}

TEST_CASE("others: a claim to one volume leaves the removal of another mount in the plan, and its own mount as it is") {
  OthersBench bench;
  bench.apply_all();
  const std::string unit = bench.root(1).read(kUnit);
  REQUIRE(bench.root(1).exists(kMemoryUnit));
  SECTION("the claimed mount is unchanged in the file") {
    bench.extra[0] = ", storage: [{target: /mnt/a, type: ext4, source: {device: UUID=aa}}]";
  }
  SECTION("the claimed mount is to change") {
    bench.extra[0] = ", storage: [{target: /mnt/a, type: ext4, options: [noatime], source: {device: UUID=aa}}]";
  }
  bench.root(2).write(kFstab, "UUID=aa /mnt/c ext4 defaults 0 0\n");
  const Report planned = bench.plan();
  INFO(to_text(planned, {}));
  CHECK(has_finding(planned, "mount.other-writer"));
  const auto& changes = planned.nodes.front().plan.changes;
  REQUIRE(changes.size() == 1);
  CHECK(changes.front().id == ResourceId{"mount", "/mnt/m"});
  CHECK(changes.front().action == Action::kRemove);
  const auto& blocked = planned.nodes.front().plan.blocked;
  REQUIRE(blocked.size() == 1);
  CHECK(blocked.front().id == ResourceId{"mount", "/mnt/a"});
  bench.options.allow_prune = true;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK_FALSE(bench.root(1).exists(kMemoryUnit));
  CHECK(bench.root(1).read(kUnit) == unit);
}

TEST_CASE("others: a claim to a volume that a saved plan does not change leaves the plan's other mounts in it") {
  OthersBench bench;
  bench.apply_all();
  bench.extra[0] =
      ", storage: [{target: /mnt/a, type: ext4, source: {device: UUID=aa}},"
      " {target: /mnt/m, source: {tmpfs: {size: 2MiB}}}]";
  const SavedPlan plan = bench.saved_plan();
  const std::string unit = bench.root(1).read(kUnit);
  const std::string memory_unit = bench.root(1).read(kMemoryUnit);
  bench.root(2).write(kFstab, "UUID=aa /mnt/c ext4 defaults 0 0\n");
  bench.options.saved_plan = &plan;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(has_finding(report, "mount.other-writer"));
  CHECK(bench.root(1).read(kMemoryUnit) != memory_unit);
  CHECK(bench.root(1).read(kUnit) == unit);
}

TEST_CASE("others: a writer that stops makes the plan stale") {
  OthersBench bench;
  bench.root(2).write(kFstab, "UUID=aa /mnt/b ext4 defaults 0 0\n");
  bench.meanwhile([&] { bench.root(2).remove(kFstab); });
  const Report report = bench.apply();
  CHECK(bench.first_error(report) == "the data of n2 for mount changed since the plan was made");
  CHECK_FALSE(bench.root(1).exists(kUnit));
  CHECK(bench.root(1).exists(kMemoryUnit));
}

TEST_CASE("others: a new mount of an undeclared volume makes no plan stale") {
  OthersBench bench;
  SECTION("on another node") {
    bench.meanwhile([&] { bench.root(2).write(kFstab, "UUID=stick /mnt/b ext4 defaults 0 0\n"); });
  }
  SECTION("on the node itself") {
    bench.meanwhile([&] { bench.root(1).write(kFstab, "UUID=stick /mnt/b ext4 defaults 0 0\n"); });
  }
  CHECK(standing(bench.apply()) == "n1 applied, n2 in_sync, n3 in_sync");
  CHECK(bench.root(1).exists(kUnit));
}

TEST_CASE("others: a silent node does not block a change of a resource that it cannot use") {
  OthersBench bench;
  bench.extra[0] = ", storage: [{target: /mnt/m, source: {tmpfs: {size: 1MiB}}}]";
  bench.meanwhile([&] { bench.root(2).remove("/"); });
  const Report report = bench.apply();
  CHECK(report.nodes.front().status == NodeStatus::kApplied);
  CHECK(bench.root(1).exists(kMemoryUnit));
}

TEST_CASE("others: a silent node does not block a change of an already mounted volume") {
  OthersBench bench;
  bench.apply_all();
  bench.extra[0].replace(bench.extra[0].find("type: ext4"), 10, "type: ext4, options: [noatime]");
  bench.meanwhile([&] { bench.root(2).remove("/"); });
  const Report report = bench.apply();
  CHECK(report.nodes.front().status == NodeStatus::kApplied);
  CHECK(bench.root(1).read(kUnit).find("noatime") != std::string::npos);
}

}  // namespace sparkplan
