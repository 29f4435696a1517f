// What `verify --level storage` says of a mount: held against cluster.yaml, not against what the node took it for.
#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "engine/verify/storage_judgement.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// A node whose file asks for this entry, and what it shows of it.
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
  std::string verdict() const {
    Check check;
    judge_mount(mount_, declared_, observed, check);
    return check.status == CheckStatus::kPass ? "pass" : check.cause.substr(0, check.cause.find(": "));
  }

  ObservedState observed;

 private:
  static Cluster cluster(const std::string& entry) {
    const LoadedCluster loaded = load_cluster(
        "version: 1\nname: lab\nstorage: [" + entry + "]\nnodes: [{name: a, address: b}]\n", "f", builtin_registry());
    for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(render(one, loaded.source));
    REQUIRE(loaded.cluster);
    return *loaded.cluster;
  }
  static DeclaredStorage declared(const std::string& entry) {
    const Cluster one = cluster(entry);
    return declared_storage(one, one.nodes.front(), {}, builtin_registry());
  }
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

TEST_CASE("verify storage: what is as declared passes, and what the node itself finds wrong fails", "[verify]") {
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

TEST_CASE("verify storage: a mount as it was declared before is not as declared", "[verify]") {
  SECTION("other options") {
    Bench bench(volume("10.0.0.9", "ro"));
    bench.applied_from(volume("10.0.0.9", "noatime"));
    CHECK(bench.verdict() == "/mnt/a is mounted with noatime, and declared with noload,ro");
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
    CHECK(bench.verdict() == "vol is connected by a unit that names another server than 10.0.0.9 port 4420");
  }
  SECTION("what is for the boot only makes no difference to what is mounted") {
    Bench bench(kTarget + "options: [noatime], source: {device: UUID=aa}}");
    bench.applied_from(kTarget + "options: [noatime, _netdev], source: {device: UUID=aa}}");
    CHECK(bench.verdict() == "pass");
  }
}

TEST_CASE("verify storage: what could not be looked at is no pass", "[verify]") {
  Bench bench(volume("10.0.0.9"));
  SECTION("the mount") {
    bench.show({"mount", "/mnt/a"}, Error{ErrorCode::kPermissionDenied, "/etc/fstab cannot be read", {}, {}, {}});
    CHECK(bench.verdict() == "/etc/fstab cannot be read");
  }
  SECTION("the connection") {
    bench.show({"nvme_tcp", "vol"}, Error{ErrorCode::kFailed, "/sys/class/nvme cannot be read", {}, {}, {}});
    CHECK(bench.verdict() == "/sys/class/nvme cannot be read");
  }
  SECTION("an agent that does not know of it") {
    bench.observed.types.erase("mount");
    CHECK(bench.verdict() == "the node has told nothing of mount//mnt/a");
  }
}

}  // namespace sparkplan
