// The verdict of `verify --level storage` on a mount: compared with cluster.yaml, not with the node's earlier state.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "engine/verify/levels/storage_judgement.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

Cluster cluster_of(const std::string& text) {
  const LoadedCluster loaded = load_cluster(text, "f", builtin_registry());
  for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(render(one, loaded.source));
  REQUIRE(loaded.cluster);
  return *loaded.cluster;
}

DeclaredStorage declared_in(const Cluster& cluster, std::size_t node = 0) {
  const auto exports = exports_without_rivals(cluster, builtin_registry());
  return declared_storage({cluster, cluster.nodes.at(node), exports}, {}, builtin_registry());
}

std::string verdict_on(const StorageMount& mount, const DeclaredStorage& declared, const ObservedState& observed) {
  Check check;
  judge_mount(mount, declared, observed, check);
  return check.status == CheckStatus::kPass ? "pass" : check.cause.substr(0, check.cause.find(": "));
}

/// The first of two nodes, with this entry in the file, and its observed state.
class Bench {
 public:
  explicit Bench(const std::string& entry) : declared_(declared(entry)), mount_(mounts(entry).front()) {
    for (const auto& [id, value] : declared_) show(id, value);
  }

  /// The node was applied when its file still had that entry.
  void applied_from(const std::string& entry) {
    for (const auto& [id, value] : declared(entry)) show(id, value);
  }
  void show_state(const std::string& type, const std::string& state) {
    for (auto& [name, observation] : observed.types[type].resources) {
      std::get<Present>(observation).value.set("state", state);
    }
  }
  void show(const ResourceId& id, Observation observation) {
    observed.types[id.type].resources.insert_or_assign(id.name, std::move(observation));
  }
  /// "pass", or the cause of the failure.
  std::string verdict() const { return verdict_on(mount_, declared_, observed); }

  ObservedState observed;

 private:
  static Cluster cluster(const std::string& entry) {
    return cluster_of("version: 1\nname: lab\nnodes:\n  - {name: a, address: a, storage: [" + entry +
                      "]}\n  - {name: b, address: b}\n");
  }
  static DeclaredStorage declared(const std::string& entry) { return declared_in(cluster(entry)); }
  static std::vector<StorageMount> mounts(const std::string& entry) {
    return storage_mounts(cluster(entry).nodes.front().sections.at("storage"));
  }
  void show(const ResourceId& id, const Value& value) { show(id, Observation(Present{value, {}})); }

  DeclaredStorage declared_;
  StorageMount mount_;
};

const std::string kTarget = "{target: /mnt/a, type: ext4, ";

std::string volume(const std::string& address, const std::string& options = "ro") {
  return kTarget + "options: [" + options + "], source: {nvme_tcp: {address: " + address + ", subsystem: vol}}}";
}

}  // namespace

TEST_CASE("verify storage: a mount as declared passes, and the node's own findings fail", "[verify]") {
  Bench bench(volume("10.0.0.9"));
  CHECK(bench.verdict() == "pass");
  bench.show_state("mount", "mounted without noatime");
  CHECK(bench.verdict() == "/mnt/a is mounted without noatime");
  bench.show_state("mount", "not mounted");
  CHECK(bench.verdict() == "/mnt/a is not mounted");
  bench.show_state("mount", "mounted from /dev/sdb (xfs)");
  CHECK(bench.verdict() == "/mnt/a is mounted from /dev/sdb (xfs)");
  bench.show_state("nvme_tcp", "reconnecting");
  CHECK(bench.verdict() == "10.0.0.9 does not answer");
  bench.show_state("nvme_tcp", "not connected");
  CHECK(bench.verdict() == "vol is not connected");
}

TEST_CASE("verify storage: a volume that one of several nodes writes passes", "[verify]") {
  SECTION("by its UUID") { CHECK(Bench(kTarget + "source: {device: UUID=aa}}").verdict() == "pass"); }
  SECTION("by its subsystem") { CHECK(Bench(volume("10.0.0.9", "noatime")).verdict() == "pass"); }
}

TEST_CASE("verify storage: a unit of millions of options costs little memory, and the check names some of them") {
  Bench bench(volume("10.0.0.9"));
  auto& unit = std::get<Present>(bench.observed.types.at("mount").resources.at("/mnt/a")).value;
  std::string text = unit.text_or("unit", "") + "\n[Mount]\nOptions=";
  for (int i = 0; i < 2'000'000; ++i) text += "a,";
  unit.set("unit", std::move(text));
  const auto cost = test::cost_of([&] {
    const std::string verdict = bench.verdict();
    return verdict.starts_with("/mnt/a is mounted with a,a,") && verdict.size() < 5000;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("verify storage: the unchanged example passes", "[verify]") {
  std::ifstream file(std::filesystem::path(test::source_folder()) / "examples" / "storage-nvme-tcp.yaml");
  const Cluster cluster = cluster_of({std::istreambuf_iterator<char>(file), {}});
  std::size_t mounts = 0;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const DeclaredStorage declared = declared_in(cluster, i);
    ObservedState observed;
    for (const auto& [id, value] : declared) observed.types[id.type].resources.emplace(id.name, Present{value, {}});
    for (const StorageMount& mount : storage_mounts(cluster.nodes[i].sections.at("storage"))) {
      CHECK(verdict_on(mount, declared, observed) == "pass");
      ++mounts;
    }
  }
  CHECK(mounts == 3);
}

TEST_CASE("verify storage: a mount from an earlier declaration fails", "[verify]") {
  SECTION("other options") {
    Bench bench(volume("10.0.0.9", "ro"));
    bench.applied_from(volume("10.0.0.9", "noatime"));
    CHECK(bench.verdict() == "/mnt/a is mounted with noatime, but declared with noload,ro");
  }
  SECTION("another device") {
    Bench bench(kTarget + "source: {device: UUID=aa}}");
    bench.applied_from(kTarget + "source: {device: UUID=bb}}");
    CHECK(bench.verdict() == "/mnt/a is mounted from /dev/disk/by-uuid/bb (ext4)");
  }
  SECTION("another file system") {
    Bench bench("{target: /mnt/a, type: xfs, source: {device: UUID=aa}}");
    bench.applied_from(kTarget + "source: {device: UUID=aa}}");
    CHECK(bench.verdict() == "/mnt/a is mounted from /dev/disk/by-uuid/aa (ext4)");
  }
  SECTION("another server") {
    Bench bench(volume("10.0.0.9"));
    bench.applied_from(volume("10.0.0.1"));
    CHECK(bench.verdict() == "vol is connected by a unit whose server is not 10.0.0.9 port 4420");
  }
  SECTION("boot-only options make no difference") {
    Bench bench(kTarget + "options: [noatime], source: {device: UUID=aa}}");
    bench.applied_from(kTarget + "options: [noatime, _netdev], source: {device: UUID=aa}}");
    CHECK(bench.verdict() == "pass");
  }
}

TEST_CASE("verify storage: an unreadable mount or connection does not pass", "[verify]") {
  Bench bench(volume("10.0.0.9"));
  SECTION("the mount") {
    bench.show({"mount", "/mnt/a"}, Error{ErrorCode::kPermissionDenied, "/etc/fstab cannot be read", {}, {}, {}});
    CHECK(bench.verdict() == "/etc/fstab cannot be read");
  }
  SECTION("the connection") {
    bench.show({"nvme_tcp", "vol"}, Error{ErrorCode::kFailed, "/sys/class/nvme cannot be read", {}, {}, {}});
    CHECK(bench.verdict() == "/sys/class/nvme cannot be read");
  }
  SECTION("an agent without the resource type") {
    bench.observed.types.erase("mount");
    CHECK(bench.verdict() == "the node has not reported mount /mnt/a");
  }
}

TEST_CASE("verify storage: a reading that was not made is skipped for the reason that the node gives", "[verify]") {
  ReadStorageReply reply;
  reply.unmeasured = "no large file was found and read within 40 s\x1b";
  Check check = skipped(Level::kStorage, {"a"}, "mnt/a/read", "");
  judge_reading({}, reply, check);
  CHECK(check.status == CheckStatus::kSkip);
  CHECK(check.cause == printable(reply.unmeasured));
}

}  // namespace sparkplan
