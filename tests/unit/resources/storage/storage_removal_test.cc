// Changed and removed mounts: no data may be lost, and the checks come before the change.
#include <algorithm>

#include "engine/domain/storage/storage.h"
#include "engine/node/mount_table.h"
#include "engine/resource/registry.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_steps.h"
#include "resources/mount/mount_unit.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "tests/support/catch.h"
#include "tests/support/fake_storage.h"
#include "tests/unit/process/cost.h"

namespace sparkplan::test {
namespace {

StorageMount memory(const std::string& target, int bytes) {
  StorageMount mount;
  mount.target = target;
  mount.what = mount.type = "tmpfs";
  mount.options = {"size=" + std::to_string(bytes), "nofail"};
  return mount;
}

StorageMount volume(const std::string& target) {
  StorageMount mount;
  mount.target = target;
  mount.kind = StorageKind::kNvmeTcp;
  mount.nvme = NvmeTcpVolume{"10.0.0.9", 4420, "vol", 1};
  mount.what = nvme_device_link(*mount.nvme);
  mount.type = "ext4";
  mount.options = {"nofail", "_netdev"};
  return mount;
}

Observation mounted_as(const StorageMount& mount) {
  return Present{Value::map({{"unit", mount::render_unit(mount)}, {"enabled", !mount.nvme}, {"state", "mounted"}}), {}};
}

bool is_mounted(const FakeNode& node, const std::string& target) {
  return mounted_at(parse_mountinfo(*node.text_of("/proc/self/mountinfo")), target) != nullptr;
}

/// "refused: MESSAGE"; empty after success.
std::string told(const Result<void>& result) {
  if (result) return {};
  return (result.error().code == ErrorCode::kRefused ? "refused: " : "") + result.error().message;
}

/// The objection that a run reports before its first write.
std::string objection(const std::string& target, const Observation& before, const Observation& after, FakeNode& node) {
  Step step;
  step.type = "mount";
  step.artifact = {"mount", target};
  step.before = before;
  step.after = after;
  const auto objections = mount::objections_to(std::vector<Step>{step}, node);
  return objections.empty() ? std::string() : objections.front().error.message;
}

/// A machine that is connected to the volume.
FakeNode client() {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/fake/servers/vol", "nvme1n1");
  node.put_file("/fake/devices/nvme1n1", "ext4");
  connect_subsystem(node, "vol", "10.0.0.9", 4420);
  return node;
}

}  // namespace

TEST_CASE("files in a tmpfs are not lost by a change or a removal", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const Observation large = mounted_as(memory("/mnt/fast", 65536));
  REQUIRE(mount::make_mount("/mnt/fast", large, node));
  node.add_directory("/mnt/fast/run");
  SECTION("an empty tmpfs is unmounted, with its directories") {
    CHECK(objection("/mnt/fast", large, Absent{}, node).empty());
    REQUIRE(mount::make_mount("/mnt/fast", Absent{}, node));
    CHECK_FALSE(is_mounted(node, "/mnt/fast"));
  }
  node.put_file("/mnt/fast/run/result", "one\n");
  node.put_file("/mnt/fast/another", "two\n");
  const std::string holds = "/mnt/fast holds 2 files, which are in memory only and would be lost";
  SECTION("it is not unmounted") {
    CHECK(objection("/mnt/fast", large, Absent{}, node) == holds);
    CHECK(told(mount::make_mount("/mnt/fast", Absent{}, node)) == "refused: " + holds);
  }
  SECTION("a tmpfs with files is not replaced") {
    CHECK(objection("/mnt/fast", large, mounted_as(volume("/mnt/fast")), node) == holds);
    CHECK(told(mount::make_mount("/mnt/fast", mounted_as(volume("/mnt/fast")), node)) == "refused: " + holds);
  }
  SECTION("a tmpfs with files is not mounted again when the kernel refuses the size") {
    CHECK(told(mount::make_mount("/mnt/fast", mounted_as(memory("/mnt/fast", 4)), node)) ==
          "refused: the options of /mnt/fast cannot be changed while it is mounted, and " + holds);
  }
  SECTION("a sufficient size is set by a remount") {
    CHECK(told(mount::make_mount("/mnt/fast", mounted_as(memory("/mnt/fast", 131072)), node)).empty());
  }
  if (is_mounted(node, "/mnt/fast")) CHECK(node.text_of("/mnt/fast/run/result") == "one\n");
}

TEST_CASE("exactly a thousand files in a tmpfs are a thousand, and not more", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const Observation large = mounted_as(memory("/mnt/fast", 65536));
  REQUIRE(mount::make_mount("/mnt/fast", large, node));
  for (int i = 0; i < 1000; ++i) node.put_file("/mnt/fast/" + std::to_string(i), "");
  CHECK(objection("/mnt/fast", large, Absent{}, node).starts_with("/mnt/fast holds 1000 files, "));
  node.put_file("/mnt/fast/one more", "");
  CHECK(objection("/mnt/fast", large, Absent{}, node).starts_with("/mnt/fast holds more than a thousand files, "));
}

TEST_CASE("a tmpfs with millions of empty directories costs a removal ten thousand looks, and is not unmounted",
          "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const Observation large = mounted_as(memory("/mnt/fast", 65536));
  REQUIRE(mount::make_mount("/mnt/fast", large, node));
  for (int i = 0; i < 10'000; ++i) node.add_directory("/mnt/fast/" + std::to_string(i));
  CHECK(objection("/mnt/fast", large, Absent{}, node).empty());
  for (int i = 10'000; i < 30'000; ++i) node.add_directory("/mnt/fast/" + std::to_string(i));
  const int reads = node.reads();
  CHECK(objection("/mnt/fast", large, Absent{}, node) ==
        "/mnt/fast holds more than 10000 directories, so its files, which are in memory only, were not counted");
  CHECK(node.reads() - reads < 10'100);
}

TEST_CASE("a volume mounted writable by a container counts as written", "[storage]") {
  FakeNode node = client();
  const auto written = [&] { return display(*builtin_registry().find("mount")->exports(Value::list(), node)); };
  const std::string link = "/dev/disk/by-id/sparkplan-nvme-vol-1";
  CHECK(written().find(link) == std::string::npos);
  node.put_file("/proc/fs/ext4/nvme1n1/options", "rw\nbsddf\n");
  CHECK(written().find(link) != std::string::npos);
  node.put_file("/proc/fs/ext4/nvme1n1/options", "ro\nbsddf\n");
  CHECK(written().find(link) == std::string::npos);
}

TEST_CASE("a volume held by a container does not count as unmounted", "[storage]") {
  FakeNode node = client();
  REQUIRE(mount::make_mount("/mnt/a", mounted_as(volume("/mnt/a")), node));
  node.put_file("/fake/held", "/dev/nvme1n1\n");
  SECTION("the volume is mounted again") {
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)) ==
          "refused: /mnt/a is held by another mount namespace, such as a container's");
    CHECK(is_mounted(node, "/mnt/a"));
  }
  SECTION("except a volume that is visibly mounted elsewhere") {
    add_mount(node, "/dev/nvme1n1", "/mnt/by-hand", "ext4", "rw");
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)).empty());
    CHECK_FALSE(is_mounted(node, "/mnt/a"));
  }
  SECTION("a volume whose use is unknown is mounted again too") {
    node.add_program("perl", [](const FakeNode::Call&) -> Result<CommandOutput> {
      return CommandOutput{1, {}, "Input/output error"};
    });
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)) ==
          "cannot determine whether /dev/nvme1n1 is in use: Input/output error");
    CHECK(is_mounted(node, "/mnt/a"));
  }
}

TEST_CASE("a program that has only mapped a file is named after the unmount was refused, by a search of its own",
          "[storage]") {
  FakeNode node = client();
  const Observation there = mounted_as(volume("/mnt/a"));
  REQUIRE(mount::make_mount("/mnt/a", there, node));
  node.put_file("/fake/busy", "/mnt/a\n");
  node.put_file("/proc/4711/comm", "llama-server\n");
  const auto answer_about_maps = [&](const Result<CommandOutput>& answer) {
    node.add_program("find", [answer](const FakeNode::Call& call) -> Result<CommandOutput> {
      const bool about_maps = std::ranges::find(call.argv, std::string("/proc/[0-9]*/map_files/*")) != call.argv.end();
      return about_maps ? answer : Result<CommandOutput>(CommandOutput{});
    });
  };
  const std::string used = "/mnt/a is in use by llama-server (4711)";
  SECTION("it is named") {
    answer_about_maps(CommandOutput{0, "/proc/4711/map_files/7f0-7f1\n/proc/4711/map_files/7f1-7f2\n", {}});
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)) == "refused: " + used);
  }
  SECTION("it is named before a mount is made again for its options") {
    answer_about_maps(CommandOutput{1, "/proc/4711/map_files/7f0-7f1\n", "Permission denied"});
    node.put_file("/proc/self/mountinfo", "");
    add_mount(node, "/dev/nvme1n1", "/mnt/a", "ext4", "ro,norecovery");
    CHECK(told(mount::make_mount("/mnt/a", there, node)) ==
          "refused: the options of /mnt/a cannot be changed while it is mounted, and " + used);
  }
  SECTION("a user who holds up that search hides the name, and no error of systemd") {
    answer_about_maps(failure(ErrorCode::kUnreachable, "find did not end within 5 s"));
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)).find("Job for mnt-a.mount failed.") != std::string::npos);
  }
  CHECK(is_mounted(node, "/mnt/a"));
}

TEST_CASE("a target inside a mount of the same run is checked after that mount", "[storage]") {
  FakeNode node = client();
  REQUIRE(mount::make_mount("/mnt/a", mounted_as(volume("/mnt/a")), node));
  node.put_file("/mnt/a/cache/model", "weights");
  const auto inner = [&] {
    return told(mount::make_mount("/mnt/a/cache", mounted_as(memory("/mnt/a/cache", 65536)), node));
  };
  CHECK(inner() == "refused: /mnt/a/cache is not empty: the mount would hide model");
  CHECK_FALSE(is_mounted(node, "/mnt/a/cache"));
  node.erase("/mnt/a/cache/model");
  CHECK(inner().empty());
}

TEST_CASE("foreign units that systemd would stop with a mount prevent its removal", "[storage]") {
  FakeNode node = client();
  const Observation there = mounted_as(volume("/mnt/a"));
  REQUIRE(mount::make_mount("/mnt/a", there, node));
  node.put_file("/fake/required-by", "mnt-a.mount inference.service\nmnt-a.mount srv-b.mount\n");
  const std::string ours = mount::render_unit(memory("/srv/b", 4096));
  node.put_file("/etc/systemd/system/srv-b.mount", ours);
  const std::string used = "/mnt/a is in use by inference.service";
  SECTION("it is not unmounted") {
    CHECK(objection("/mnt/a", there, Absent{}, node) == used);
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)) == "refused: " + used);
    CHECK(is_mounted(node, "/mnt/a"));
    CHECK_FALSE(node.text_of("/fake/inactive"));
  }
  SECTION("the mount is not replaced") {
    node.put_file("/proc/self/mountinfo", "");
    add_mount(node, "/dev/nvme1n1", "/mnt/a", "ext4", "ro,norecovery");
    CHECK(told(mount::make_mount("/mnt/a", there, node)) ==
          "refused: the options of /mnt/a cannot be changed while it is mounted, and " + used);
  }
  SECTION("inactive units do not count") {
    node.put_file("/fake/inactive", "inference.service\n");
    CHECK(objection("/mnt/a", there, Absent{}, node).empty());
    CHECK(told(mount::make_mount("/mnt/a", Absent{}, node)).empty());
  }
  SECTION("an unknown unit counts as active") {
    node.set_unit_reader([](const FakeNode&, const std::string&) -> Result<UnitProperties> {
      return failure(ErrorCode::kFailed, "systemctl show: Failed to connect to bus");
    });
    CHECK(objection("/mnt/a", there, Absent{}, node) == "systemctl show: Failed to connect to bus");
  }
}

TEST_CASE("no login waits for a server, and no shutdown disconnects a volume", "[storage]") {
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "vol", 1};
  const std::string text = nvme_tcp::render_unit(one);
  CHECK(text.find("remote-fs-pre.target") == std::string::npos);
  CHECK(text.find("Before=") == std::string::npos);
  CHECK(text.find("TimeoutStopSec=5\n") != std::string::npos);
  CHECK(text.find("ExecStop") == std::string::npos);
  // The mounts' own units contain the required order.
  const std::string mount = mount::render_unit(volume("/mnt/a"));
  CHECK(mount.find("\nRequires=sparkplan-nvme-vol.service\nAfter=sparkplan-nvme-vol.service\n") != std::string::npos);
  FakeNode node = client();
  const Observation there = Present{Value::map({{"unit", text}, {"enabled", true}, {"state", "connected"}}), {}};
  REQUIRE(nvme_tcp::make_connection("vol", there, node));
  REQUIRE(nvme_tcp::make_connection("vol", Absent{}, node));
  CHECK_FALSE(node.text_of("/sys/class/nvme/nvme0/subsysnqn"));
}

namespace {

/// Mounts that left the file beside those that stay, and the directories that sparkplan made for them.
struct RemovedMounts {
  std::vector<Resource> kept;
  std::vector<Change> changes;
  ObservedType observed;
  std::map<ArtifactId, Observation> originals;

  void keep(const std::string& target) {
    kept.push_back({{"mount", target}, Value::map(), {}, {}, Impact::kLive, Reversible::kExact});
  }

  void make_directory(const std::string& path) {
    observed.artifacts[mount::directory_artifact(path)] = Present{Value::map({{"directory", true}}), {}};
    originals[mount::directory_artifact(path)] = Absent{};
  }

  void remove(const std::string& target) {
    Change change;
    change.id = {"mount", target};
    change.action = Action::kRemove;
    changes.push_back(change);
    observed.artifacts[mount::mount_artifact(target)] = mounted_as(memory(target, 4096));
    make_directory(target);
  }

  std::vector<Step> steps() const {
    return builtin_registry().find("mount")->steps(
        {{kept.begin(), kept.end()}, observed, {changes.begin(), changes.end()}, originals});
  }
};

}  // namespace

TEST_CASE("directories of removed mounts go with the last mount in them, unless a mount that stays lies there",
          "[storage]") {
  RemovedMounts mounts;
  mounts.make_directory("/srv");
  for (const char* const target : {"/srv/a/x", "/srv/a-b", "/srv/a", "/kept"}) mounts.remove(target);
  const auto artifacts = [&] {
    std::vector<std::string> names;
    for (const Step& step : mounts.steps()) names.push_back(step.artifact.str());
    return names;
  };
  CHECK(artifacts() == std::vector<std::string>{"mount:/srv/a/x", "directory:/srv/a/x", "mount:/srv/a-b",
                                                "directory:/srv/a-b", "mount:/srv/a", "directory:/srv/a",
                                                "directory:/srv", "mount:/kept", "directory:/kept"});
  mounts.keep("/kept/one");
  mounts.keep("/srv/a.c");
  CHECK(artifacts() == std::vector<std::string>{"mount:/srv/a/x", "directory:/srv/a/x", "mount:/srv/a-b",
                                                "directory:/srv/a-b", "mount:/srv/a", "directory:/srv/a",
                                                "mount:/kept"});
}

TEST_CASE("a thousand removed mounts below a thousand directories cost a plan less than five seconds", "[storage]") {
  constexpr int kMany = 1'000;
  RemovedMounts mounts;
  std::string below;
  for (int i = 0; i < kMany; ++i) mounts.make_directory(below += "/d");
  for (int i = 0; i < kMany; ++i) {
    mounts.remove(below + "/" + std::to_string(i));
    mounts.keep("/kept/" + std::to_string(i));
  }
  // For each removed mount itself, its own directory, and those above all of them.
  const auto cost = cost_of([&] { return mounts.steps().size() == 3 * kMany; });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 5);
}

}  // namespace sparkplan::test
