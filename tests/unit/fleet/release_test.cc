// Departing nodes: undone and released only with the user's consent.
#include "engine/fleet/planning/release_scope.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/core/json.h"
#include "engine/fleet/planning/status_run.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;
using test::has_diagnostic;
using test::kManifestFile;
using test::kProfileFile;
using test::kSysctlFile;
using test::standing;

constexpr auto kReleasedSections = "sysctl: {vm.swappiness: 10}\nprofile_env: {A: b}\n";

/// Two applied nodes; the second has left the file.
FleetBench two_of_which_one_leaves() {
  FleetBench bench(2);
  bench.root(2).write(kProfileFile, "# somebody's own\n");
  bench.sections = kReleasedSections;
  bench.apply_all();
  bench.left_out[1] = true;
  return bench;
}

/// Three applied nodes. The third one, which the file still names, is about to be released; the others have pending
/// changes.
class ReleaseOfThird : public FleetBench {
 public:
  /// `pending` is added to the first node's entry.
  explicit ReleaseOfThird(const std::string& pending = "") : FleetBench(3) {
    for (const std::size_t node : {1U, 2U, 3U}) {
      extra[node - 1] = ", fabric: {interfaces: [{name: eth1, address: 192.168.100." + std::to_string(node) + "/24}]}";
    }
    const std::string fabric = "fabric: {topology: custom}\nhosts: {}\n";
    sections = fabric + kReleasedSections;
    apply_all();
    sections = fabric + "sysctl: {vm.swappiness: 20}\nprofile_env: {A: c}\n";
    extra[0] += pending;
    whole_ = load_cluster(file(), "cluster.yaml", builtin_registry()).cluster;
    REQUIRE(whole_);
    left_out = {false, false, true};
    options.release = "n3";
    options.released_entry = whole_->nodes.at(2);
    options.with_released = &*whole_;
  }
  ReleaseOfThird(const ReleaseOfThird&) = delete;
  ReleaseOfThird& operator=(const ReleaseOfThird&) = delete;

 private:
  std::optional<Cluster> whole_;
};

/// The file before and after the release of n1. n2 has a pending mount, which only one node may have.
class FileWithAndWithout {
 public:
  FileWithAndWithout() { exports["n1"]["mount"] = exports["n2"]["mount"] = volumes(0); }

  static Value volumes(int number) {
    Value::List names;
    for (int i = 0; i < number; ++i) names.emplace_back("/dev/x" + std::to_string(i));
    return Value::map({{"writes", std::move(names)}, {"places", Value::map()}});
  }
  DesiredState with() const { return of_second("  - {name: n1, address: a}\n"); }
  DesiredState without() const { return of_second(""); }

  std::map<std::string, NodeExports> exports;

 private:
  DesiredState of_second(const std::string& first) const {
    const auto loaded = load_cluster(
        "version: 1\nname: lab\nnodes:\n" + first +
            "  - {name: n2, address: b, storage: [{target: /mnt/a, type: ext4, source: {device: UUID=aa}}]}\n",
        "cluster.yaml", builtin_registry());
    REQUIRE(loaded.cluster);
    const NodeSpec& second = loaded.cluster->nodes.back();
    return desired_state(ClusterView{*loaded.cluster, second, exports}, Facts(), builtin_registry());
  }
};

bool has_code(const Report& report, const std::string& code) {
  return std::ranges::any_of(report.diagnostics, [&](const Diagnostic& one) { return one.code == code; });
}

}  // namespace

TEST_CASE("release: a plan names a departed node, and with consent lists the changes that it undoes") {
  FleetBench bench = two_of_which_one_leaves();
  const auto unasked = bench.plan();
  CHECK(standing(unasked) == "n1 in_sync, n2 pending");
  CHECK(unasked.nodes[1].membership == Membership::kLeaving);
  CHECK(unasked.nodes[1].not_contacted);
  CHECK(changes(unasked).empty());
  bench.run.contact_departing = true;
  const auto plan = bench.plan();
  CHECK(standing(plan) == "n1 in_sync, n2 pending");
  CHECK_FALSE(plan.nodes[1].not_contacted);
  CHECK(changes(plan) ==
        std::vector<std::string>{"n2 remove profile_env/A config", "n2 remove sysctl/vm.swappiness config"});
}

TEST_CASE("release: with consent a departing node gets its earlier state back, and the others forget it") {
  FleetBench bench = two_of_which_one_leaves();
  bench.options.allow_prune = true;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 in_sync, n2 released");
  CHECK(bench.root(2).read(kProfileFile) == "# somebody's own\n");
  CHECK_FALSE(bench.root(2).exists(kSysctlFile));
  CHECK_FALSE(bench.root(2).exists("/var/lib/sparkplan"));
  CHECK(bench.root(1).read(kManifestFile).find("n2") == std::string::npos);
  CHECK(standing(bench.plan()) == "n1 in_sync");
}

TEST_CASE("release: an unreachable departing node blocks no other, and each run requires consent again") {
  FleetBench bench = two_of_which_one_leaves();
  const auto away = bench.root(2).path().string() + ".away";
  std::filesystem::rename(bench.root(2).path(), away);
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.options.allow_prune = true;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 4);
  CHECK(standing(report) == "n1 applied, n2 unreachable");
  bench.options.allow_prune = false;
  std::filesystem::rename(away, bench.root(2).path());
  const auto before = bench.root(2).tree();
  const auto without = bench.apply();
  CHECK(exit_of(without) == 0);
  CHECK(standing(without) == "n1 in_sync, n2 pending");
  REQUIRE(without.diagnostics.size() == 1);
  CHECK(without.diagnostics[0].code == "release.pending");
  CHECK(bench.root(2).tree() == before);
  bench.options.allow_prune = true;
  CHECK(standing(bench.apply()) == "n1 in_sync, n2 released");
}

TEST_CASE("release: a node is released by name while the file lists it, and no other departed node") {
  FleetBench bench(3);
  bench.sections = kReleasedSections;
  bench.apply_all();
  bench.left_out = {false, true, true};
  bench.options.release = "n3";
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 in_sync, n2 skipped, n3 released");
  CHECK(bench.root(2).exists(kManifestFile));
  CHECK_FALSE(bench.root(3).exists("/var/lib/sparkplan"));
}

TEST_CASE("release: the other nodes lose what the released node implies, and their pending changes stay pending") {
  ReleaseOfThird bench;
  const std::string sysctl = bench.root(1).read(kSysctlFile);
  const std::string profile = bench.root(2).read(kProfileFile);
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 applied, n2 applied, n3 released");
  CHECK(bench.root(1).read("/etc/hosts").find("n2-fabric") != std::string::npos);
  CHECK(bench.root(1).read("/etc/hosts").find("n3-fabric") == std::string::npos);
  CHECK(bench.root(1).read(kManifestFile).find("\"n3\"") == std::string::npos);
  CHECK(bench.root(1).read(kSysctlFile) == sysctl);
  CHECK(bench.root(2).read(kProfileFile) == profile);
  REQUIRE(report.diagnostics.size() == 2);
  CHECK(report.diagnostics[0].code == "release.left-out");
  CHECK(report.diagnostics[0].message == "n1: 2 other changes are pending; release does not make them");
  bench.options = {};
  CHECK(changes(bench.plan()) ==
        std::vector<std::string>{"n1 update profile_env/A config", "n1 update sysctl/vm.swappiness config",
                                 "n2 update profile_env/A config", "n2 update sysctl/vm.swappiness config"});
}

TEST_CASE("release: a node that cannot be read does not have the pending changes of the others made") {
  ReleaseOfThird bench;
  bench.root(3).remove("/");
  const std::string sysctl = bench.root(1).read(kSysctlFile);
  const std::string profile = bench.root(2).read(kProfileFile);
  const auto report = bench.apply();
  CHECK(exit_of(report) == 4);
  CHECK(standing(report) == "n1 applied, n2 applied, n3 unreachable");
  CHECK(bench.root(1).read("/etc/hosts").find("n3-fabric") == std::string::npos);
  CHECK(bench.root(1).read(kSysctlFile) == sysctl);
  CHECK(bench.root(2).read(kProfileFile) == profile);
  CHECK(has_code(report, "release.unread"));
  CHECK(has_code(report, "release.left-out"));
}

TEST_CASE(
    "release: a node that cannot report a part of its data does not have the pending changes of the others made") {
  ReleaseOfThird bench(", storage: [{target: /mnt/a, type: ext4, source: {device: UUID=aa}}]");
  // Whether it writes to the volume cannot be told.
  bench.root(3).remove("/etc/fstab");
  bench.root(3).write("/etc/fstab/file", "");
  const std::string sysctl = bench.root(1).read(kSysctlFile);
  const std::string profile = bench.root(2).read(kProfileFile);
  const auto report = bench.apply();
  CHECK(has_code(report, "export.unreadable"));
  CHECK(standing(report) == "n1 applied, n2 applied, n3 released");
  CHECK(bench.root(1).read("/etc/hosts").find("n3-fabric") == std::string::npos);
  CHECK(bench.root(1).read(kSysctlFile) == sysctl);
  CHECK(bench.root(2).read(kProfileFile) == profile);
  CHECK_FALSE(bench.root(1).exists("/etc/systemd/system/mnt-a.mount"));
  CHECK(has_code(report, "release.unread"));
}

TEST_CASE(
    "release: a node that leaves out its data, or sends too much, does not have the pending changes of others made") {
  FileWithAndWithout file;
  const ResourceId mount{"mount", "/mnt/a"};
  SECTION("it leaves out the export, and sends no error") { file.exports["n1"].erase("mount"); }
  SECTION("it sends an export above the limit, which counts as none") {
    file.exports["n1"]["mount"] = FileWithAndWithout::volumes(4097);
  }
  const DesiredState with = file.with();
  const DesiredState without = file.without();
  REQUIRE(with.unresolved.contains(mount));
  REQUIRE(differing(with, without) == std::set<ResourceId>{mount});
  CHECK(due_to_release(with, without).empty());
}

TEST_CASE("release: a value that was missing for lack of data is no consequence, and every other difference is one") {
  const ResourceId resolved{"sysctl", "a"};
  const ResourceId unresolved{"mount", "/mnt/a"};
  const ResourceId of_incomplete_type{"netplan", "eth0"};
  const ResourceId changed{"netplan", "eth1"};
  const auto resource = [](const ResourceId& id, const Value& value) {
    Resource made;
    made.id = id;
    made.desired = value;
    return made;
  };
  DesiredState with;
  with.unresolved = {unresolved};
  with.incomplete_types = {"netplan"};
  // Two values that are unknown for the same reason are equal.
  const Resource of_silent =
      resource({"ssh_trust", "a"}, Value::map({{"authorized.n2", Value::Unknown{"not told", {}}}}));
  with.resources = {resource(changed, "before"), of_silent};
  Desired without;
  without.resources = {of_silent, resource(unresolved, "x"), resource(of_incomplete_type, "x"),
                       resource(changed, "after"), resource(resolved, "x")};
  CHECK(due_to_release(with, without) == std::set<ResourceId>{changed, resolved});
}

TEST_CASE("release: a node is read as a whole only with an export of each type that all nodes export") {
  FactsReply known;
  known.exports["mount"] = Value::map();
  CHECK(is_read_whole(known, {"mount"}));
  CHECK_FALSE(is_read_whole(known, {"mount", "other"}));
  known.export_errors["ssh_trust"] = Error{ErrorCode::kFailed, "x", {}, {}, ""};
  CHECK_FALSE(is_read_whole(known, {"mount"}));
}

TEST_CASE(
    "release: what was applied with a field of the released node is changed, also if the file asks for it no more") {
  Manifest manifest;
  const auto trust = [&](const std::string& user) -> Value& {
    return manifest.resources[{"ssh_trust", user}].last_applied;
  };
  trust("root") = Value::map({{"key", "ssh-ed25519"}, {"authorized.n3", "ssh-ed25519 AAAA"}});
  trust("user") = Value::map({{"authorized.n31", "ssh-ed25519 AAAA"}, {"n3", true}});
  trust("of a.n3") = Value::map({{"authorized.a.n3", "ssh-ed25519 AAAA"}});
  manifest.resources[{"sysctl", "vm.swappiness"}].last_applied = "10";
  CHECK(with_field_of("n3", manifest) == std::set<ResourceId>{{"ssh_trust", "root"}});
  CHECK(with_field_of("n1", manifest).empty());
}

TEST_CASE("release: a node that is gone is forgotten without contact, and no later apply asks about it") {
  FleetBench bench = two_of_which_one_leaves();
  const auto away = bench.root(2).path().string() + ".away";
  std::filesystem::rename(bench.root(2).path(), away);
  const auto refused = bench.apply();
  CHECK(exit_of(refused) == 9);
  REQUIRE(refused.nodes.at(1).error);
  CHECK(refused.nodes.at(1).error->hint.find("`sparkplan release NODE --forget`") != std::string::npos);
  bench.options.release = "n2";
  bench.options.forget = true;
  std::vector<std::string> asked;
  bool answer = false;
  bench.options.approve = [&](const Report& plan) {
    asked.push_back(standing(plan));
    return answer;
  };
  CHECK(standing(bench.apply()) == "n1 in_sync, n2 pending");
  CHECK(bench.root(1).read(kManifestFile).find("\"n2\"") != std::string::npos);
  answer = true;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 in_sync, n2 forgotten");
  CHECK(asked == std::vector<std::string>(2, "n1 in_sync, n2 forgotten"));
  CHECK(bench.root(1).read(kManifestFile).find("\"n2\"") == std::string::npos);
  bench.options = {};
  const auto later = bench.apply();
  CHECK(exit_of(later) == 0);
  CHECK(standing(later) == "n1 in_sync");
  CHECK(later.diagnostics.empty());
  std::filesystem::rename(away, bench.root(2).path());
  CHECK(bench.root(2).exists(kManifestFile));
  CHECK(bench.root(2).exists(kSysctlFile));
}

TEST_CASE("release: a mistyped node that only one manifest lists is forgotten there") {
  FleetBench bench(3);
  const auto away = bench.root(2).path().string() + ".away";
  std::filesystem::rename(bench.root(2).path(), away);
  bench.sections = kReleasedSections;
  bench.left_out = {false, false, true};
  CHECK(standing(bench.apply()) == "n1 applied, n2 unreachable");
  bench.left_out = {false, true, false};
  bench.options.release = "n2";
  bench.options.forget = true;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(standing(report) == "n1 in_sync, n3 skipped, n2 forgotten");
  CHECK(bench.root(1).read(kManifestFile).find("\"n2\"") == std::string::npos);
  std::filesystem::rename(away, bench.root(2).path());
}

TEST_CASE("release: with a name that no node has, nothing is locked or written, with other work or without") {
  FleetBench bench(2);
  bench.sections = kReleasedSections;
  bench.apply_all();
  const bool other_work = GENERATE(false, true);
  if (other_work) bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.options.release = "ghost";
  bench.options.forget = GENERATE(false, true);
  bool asked = false;
  bench.options.approve = [&](const Report&) { return asked = true; };
  // With the lock's file, which names the last holder.
  const std::vector before = {bench.root(1).tree(), bench.root(2).tree()};
  const auto report = bench.apply();
  CHECK(report.not_begun);
  CHECK_FALSE(asked);
  CHECK(std::vector{bench.root(1).tree(), bench.root(2).tree()} == before);
  REQUIRE(report.nodes.size() == 2);
}

TEST_CASE("release: status lists a released node that the file still names as not applied, without an error") {
  FleetBench bench(2);
  bench.sections = kReleasedSections;
  bench.apply_all();
  bench.left_out = {false, true};
  bench.options.release = "n2";
  REQUIRE(standing(bench.apply()) == "n1 in_sync, n2 released");
  bench.left_out = {false, false};
  const auto loaded = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  const StatusReport status = cluster_status(*loaded.cluster, builtin_registry(), bench.run);
  CHECK(standing(status.run) == "n1 in_sync, n2 pending");
  REQUIRE(status.nodes.size() == 2);
  CHECK_FALSE(status.run.nodes[1].error);
  CHECK(status.nodes[1].last_apply.empty());
  CHECK(status.nodes[1].resources == 0);
}

TEST_CASE("release: a foreign change stays, and its node is still released") {
  FleetBench bench = two_of_which_one_leaves();
  auto text = bench.root(2).read(kProfileFile);
  text.replace(text.find("'b'"), 3, "'c'");
  bench.root(2).write(kProfileFile, text);
  bench.options.allow_prune = true;
  const auto report = bench.apply();
  CHECK(exit_of(report) == 0);
  CHECK(report.nodes[1].status == NodeStatus::kReleased);
  CHECK(bench.root(2).read(kProfileFile) == text);
  CHECK_FALSE(bench.root(2).exists("/var/lib/sparkplan"));
}

TEST_CASE(
    "release: a node that another cluster has taken over is forgotten and not changed, also if it lists this one") {
  FleetBench bench = two_of_which_one_leaves();
  bench.root(2).remove("/var/lib/sparkplan");
  auto theirs = decode_manifest(*decode_json(bench.root(1).read(kManifestFile)));
  REQUIRE(theirs);
  theirs->roster.uuid = "theirs";
  const std::string manifest = encode_json(encode(*theirs));
  bench.root(2).write(kManifestFile, manifest);
  bench.options.allow_prune = true;
  const auto report = bench.apply();
  CHECK(standing(report) == "n1 in_sync, n2 released");
  CHECK(has_diagnostic(report, "release.other-cluster"));
  CHECK(bench.root(2).read(kManifestFile) == manifest);
  CHECK(bench.root(2).exists(kSysctlFile));
}

}  // namespace sparkplan
