// The names of volumes that a node exports, and who chose them.
#include <map>
#include <string>

#include "engine/node/mount_table.h"
#include "engine/resource/reported.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_steps.h"
#include "resources/mount/mount_unit.h"
#include "tests/support/fake_storage.h"
#include "tests/unit/resources/storage/storage_entries.h"

namespace sparkplan::test {
namespace {

/// A node's exports as one line, or the reason for the failure.
std::string told_by(const FakeNode& node) {
  const auto told = builtin_registry().find("mount")->exports(Value::list(), node);
  return told ? display(*told) : "error: " + told.error().message;
}

bool tells_of(const FakeNode& node, const std::string& link) { return told_by(node).find(link) != std::string::npos; }

/// A device-mapper disk of this name and UUID, as the kernel and udev show it.
void add_mapped(FakeNode& node, const std::string& name, const std::string& uuid) {
  node.put_file("/sys/class/block/dm-0/dev", "253:0\n");
  node.put_file("/sys/class/block/dm-0/dm/name", "another\n");
  node.put_file("/sys/class/block/dm-1/dev", "253:1\n");
  node.put_file("/sys/class/block/dm-1/dm/name", name + "\n");
  node.put_file("/run/udev/data/b253:0", "S:mapper/another\nS:disk/by-uuid/other\n");
  node.put_file("/run/udev/data/b253:1", "S:mapper/" + name + "\nS:disk/by-uuid/" + uuid + "\n");
}

/// btrfs has a separate device number.
void mount_btrfs(FakeNode& node, const std::string& source, const std::string& options = "rw") {
  node.put_file("/proc/self/mountinfo", "36 25 0:44 / /mnt/a " + options + " - btrfs " + source + " " + options + "\n");
}

/// s2 is to mount the volume "zz" writable, a disk that no server has. s1 writes to a volume of the server 10.0.0.66,
/// which has given it the same name.
struct ServedName {
  ServedName()
      : loaded(load_cluster("version: 1\nname: lab\nnodes:\n  - {name: s1, address: a}\n  - {name: s2, address: b, "
                            "storage: [{target: /mnt/z, type: ext4, source: {device: UUID=zz}}]}\n",
                            "f", builtin_registry())) {
    writer = client_of_the_server();
    add_mount(writer, "/dev/nvme1n1", "/mnt/scratch", "ext4", "rw");
    install_fake_storage(other);
    REQUIRE(loaded.cluster);
  }
  static FakeNode client_of_the_server() {
    FakeNode node;
    install_fake_storage(node);
    node.put_file("/fake/servers/scratch", "nvme1n1");
    connect_subsystem(node, "scratch", "10.0.0.66", 4420);
    node.put_file("/run/udev/data/b259:nvme1n1", *node.text_of("/run/udev/data/b259:nvme1n1") + kRecord);
    return node;
  }
  /// The node has the disk itself.
  static void mount_disk(FakeNode& node) {
    node.put_file("/run/udev/data/b259:sdb", kRecord);
    add_mount(node, "/dev/sdb", "/mnt/z", "ext4", "rw");
  }
  Desired desired(bool writer_answers = true) {
    const NodeSpec& second = loaded.cluster->nodes.at(1);
    const Value& section = second.sections.at("storage");
    std::map<std::string, NodeExports> exports;
    for (const auto& [name, node] : {std::pair("s1", &writer), std::pair("s2", &other)}) {
      exports[name]["mount"] = *type.exports(section, *node);
      REQUIRE(check_exports({"mount"}, builtin_registry(), exports[name]));
    }
    if (!writer_answers) exports.erase("s1");
    return type.desired(ClusterView{*loaded.cluster, second, exports}, section, {});
  }

  static constexpr const char* kRecord = "S:disk/by-uuid/zz\n";
  const ResourceType& type = *builtin_registry().find("mount");
  FakeNode writer;
  FakeNode other;
  const LoadedCluster loaded;
};

/// A node that is to mount the disk with the label "scratch". The server 10.0.0.66 has given its volume the same label,
/// and udev's link leads to that volume.
struct ContestedLabel {
  ContestedLabel() {
    install_fake_storage(node);
    node.put_file("/fake/servers/scratch", "nvme1n1");
    connect_subsystem(node, "scratch", "10.0.0.66", 4420);
    give_label("nvme1n1");
    give_label("sdb");
    node.add_special("/dev/disk/by-label/scratch");
  }
  void give_label(const std::string& device) {
    const std::string record = "/run/udev/data/b259:" + device;
    node.put_file("/sys/class/block/" + device + "/dev", "259:" + device + "\n");
    node.put_file(record, node.text_of(record).value_or("") + "S:disk/by-label/scratch\n");
    node.put_file("/fake/devices/" + device, "xfs");
  }
  /// The disk is not there: it was removed, or was never one of this node.
  void take_disk() {
    node.erase("/run/udev/data/b259:sdb");
    node.erase("/sys/class/block/sdb/dev");
  }
  std::string complaint() const {
    const auto checked = mount::check_device(wanted, mount::Patience::kNone, node);
    return checked ? std::string() : checked.error().message;
  }
  std::string state_from(const std::string& device) {
    node.put_file("/proc/self/mountinfo", "");
    add_mount(node, device, "/mnt/scratch", "xfs", "rw,nofail");
    const auto mounts = parse_mountinfo(*node.text_of("/proc/self/mountinfo"));
    const auto state = mount::compare_mounted(mounts.front(), wanted, node);
    return state ? *state : "error: " + state.error().message;
  }
  Observation wish(const std::string& options = "noatime") const {
    const auto mounts = mounts_of("  - {target: /mnt/scratch, type: xfs, options: [" + options +
                                  "], source: {device: LABEL=scratch}}\n");
    return Present{Value::map({{"unit", mount::render_unit(mounts.front())}, {"enabled", true}, {"state", "mounted"}}),
                   {}};
  }

  FakeNode node;
  const mount::MountUnit wanted{"/dev/disk/by-label/scratch", "xfs", {"nofail"}, true};
};

}  // namespace

TEST_CASE("a writable btrfs is exported under all names of its device", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  SECTION("a disk") {
    node.put_file("/sys/class/block/sdb/dev", "8:16\n");
    node.put_file("/run/udev/data/b8:16", "S:disk/by-uuid/aa\n");
    mount_btrfs(node, "/dev/sdb");
    CHECK(tells_of(node, "/dev/disk/by-uuid/aa"));
    mount_btrfs(node, "/dev/sdb", "ro");
    CHECK_FALSE(tells_of(node, "/dev/disk/by-uuid/aa"));
  }
  SECTION("a device-mapper disk") {
    add_mapped(node, "mpatha", "aa");
    mount_btrfs(node, "/dev/mapper/mpatha");
    CHECK(tells_of(node, "/dev/disk/by-uuid/aa"));
    CHECK_FALSE(tells_of(node, "/dev/disk/by-uuid/other"));
  }
  SECTION("a logical volume") {
    add_mapped(node, "vg--a-lv--b", "aa");
    mount_btrfs(node, "/dev/vg-a/lv-b");
    CHECK(tells_of(node, "/dev/disk/by-uuid/aa"));
  }
  SECTION("a disk whose name has directories") {
    node.put_file("/sys/class/block/cciss!c0d0/dev", "104:0\n");
    node.put_file("/run/udev/data/b104:0", "S:disk/by-uuid/aa\n");
    mount_btrfs(node, "/dev/cciss/c0d0");
    CHECK(tells_of(node, "/dev/disk/by-uuid/aa"));
  }
}

TEST_CASE("a node with a writable device of unknown names cannot export its writes", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  SECTION("a device that is not found") {
    add_mapped(node, "mpatha", "aa");
    mount_btrfs(node, "/dev/mapper/mpathb");
    CHECK(told_by(node) ==
          "error: /mnt/a is mounted writable, but the names of its device /dev/mapper/mpathb cannot be determined");
    mount_btrfs(node, "/dev/mapper/mpathb", "ro");
    CHECK(told_by(node) == "{writes: [], places: {}}");
  }
  SECTION("a device without a udev record") {
    add_mount(node, "/dev/sdb", "/mnt/a", "ext4", "rw");
    node.add_directory("/sys/dev/block/259:sdb");
    CHECK(told_by(node) ==
          "error: /mnt/a is mounted writable, but the names of its device /dev/sdb cannot be determined");
  }
  SECTION("a machine without devices") {
    node.erase("/sys/dev/block");
    add_mount(node, "/dev/sdb", "/mnt/a", "ext4", "rw");
    CHECK(told_by(node).starts_with("error: /mnt/a is mounted writable"));
  }
  SECTION("a removed device is written by no node") {
    add_mount(node, "/dev/sdb", "/mnt/a", "ext4", "rw");
    CHECK(told_by(node) == "{writes: [], places: {}}");
  }
}

TEST_CASE("a line of fstab is exported under all names of its device too", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mapped(node, "vg-lv", "aa");
  for (const char* device : {"/dev/mapper/vg-lv", "/dev/vg/lv"}) {
    CAPTURE(device);
    node.put_file("/etc/fstab", std::string(device) + " /mnt/a btrfs defaults 0 0\n");
    CHECK(tells_of(node, "/dev/disk/by-uuid/aa: /etc/fstab:1"));
    CHECK(tells_of(node, device));
  }
  // The device may never appear: a USB disk.
  node.put_file("/etc/fstab", "/dev/sdz1 /mnt/a ext4 nofail 0 0\n");
  CHECK(told_by(node) == "{writes: [/dev/sdz1], places: {/dev/sdz1: /etc/fstab:1}}");
}

TEST_CASE("a btrfs on a logical volume is identified by its UUID", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mapped(node, "vg-lv", "aa");
  mount_btrfs(node, "/dev/mapper/vg-lv");
  const auto there = *mounted_at(parse_mountinfo(*node.text_of("/proc/self/mountinfo")), "/mnt/a");
  const auto how = [&](const std::string& uuid) {
    const auto compared = mount::compare_mounted(there, {"/dev/disk/by-uuid/" + uuid, "btrfs", {}, true}, node);
    return compared ? *compared : "error: " + compared.error().message;
  };
  CHECK(how("aa") == "mounted");
  CHECK(how("other") == "mounted from /dev/mapper/vg-lv (btrfs)");
}

TEST_CASE("a name that an NVMe server gives its volume refuses no node that has a disk of that name mounted",
          "[storage]") {
  ServedName nodes;
  const auto finding = [&] {
    const Desired found = nodes.desired();
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.resources.size() == (found.diagnostics.front().severity == Severity::kError ? 0U : 1U));
    return found.diagnostics.front();
  };
  const std::string claim =
      "s1 still writes to \"/dev/disk/by-uuid/zz\", which s2 is to mount writable: two writers destroy it";
  const std::string by_server =
      claim + "; s1 reports that the volume is one of the server 10.0.0.66, which chooses its names";
  SECTION("the finding about a node without the disk names the server") {
    CHECK(finding().severity == Severity::kError);
    CHECK(finding().message == by_server);
    CHECK(finding().hint ==
          "if that volume is another one, unmount it on s1; else apply that node first: `sparkplan apply --only s1`");
  }
  SECTION("a node that has the disk mounted keeps its mount, with a warning") {
    ServedName::mount_disk(nodes.other);
    CHECK(finding().severity == Severity::kWarning);
    CHECK(finding().message == by_server);
  }
  SECTION("a unit of the node without a mount is no proof that it has the disk") {
    const StorageMount wanted = storage_mounts(nodes.loaded.cluster->nodes.at(1).sections.at("storage")).front();
    nodes.other.put_file("/etc/systemd/system/mnt-z.mount", mount::render_unit(wanted));
    CHECK(finding().severity == Severity::kError);
  }
  SECTION("a volume of that server, mounted on the node itself, is not the disk") {
    nodes.other = ServedName::client_of_the_server();
    add_mount(nodes.other, "/dev/nvme1n1", "/mnt/scratch", "ext4", "rw");
    CHECK(finding().severity == Severity::kError);
    const Desired doubtful = nodes.desired(false);
    REQUIRE(doubtful.diagnostics.size() == 1);
    CHECK(doubtful.diagnostics.front().code == "mount.maybe-other-writer");
  }
  SECTION("a logical volume on a partition of the served volume has its names from the server, too") {
    nodes.writer.put_file("/proc/self/mountinfo", "");
    add_mapped(nodes.writer, "vg-lv", "zz");
    nodes.writer.put_file("/sys/class/block/nvme1n1p1/partition", "1\n");
    nodes.writer.put_file("/sys/class/block/dm-1/slaves/nvme1n1p1", "");
    mount_btrfs(nodes.writer, "/dev/mapper/vg-lv");
    CHECK(finding().message == by_server);
  }
  ServedName::mount_disk(nodes.other);
  SECTION("a name that the other node's own files give is a claim as any other") {
    nodes.writer.put_file("/etc/fstab", "UUID=zz /mnt/scratch ext4 defaults 0 0\n");
    CHECK(finding().severity == Severity::kError);
    CHECK(finding().message == claim);
  }
  SECTION("so is the name of a disk that the other node has itself") {
    ServedName::mount_disk(nodes.writer);
    CHECK(finding().severity == Severity::kError);
    CHECK(finding().message == claim);
  }
}

TEST_CASE("mount: a name that a disk and a volume of an NVMe server both have is refused, and the error names them",
          "[storage]") {
  ContestedLabel place;
  const std::string refusal =
      "/dev/disk/by-label/scratch is the name of two devices: of /dev/nvme1n1, a volume of the NVMe server 10.0.0.66, "
      "and of /dev/sdb";
  CHECK(place.complaint() == refusal);
  SECTION("before the mount") {
    const auto made = mount::make_mount("/mnt/scratch", place.wish(), place.node);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::kRefused);
    CHECK(made.error().message == refusal);
    CHECK(place.node.text_of("/proc/self/mountinfo") == "");
  }
  SECTION("before options are changed by a new mount") {
    add_mount(place.node, "/dev/sdb", "/mnt/scratch", "xfs", "ro,norecovery");
    place.node.put_file("/etc/systemd/system/mnt-scratch.mount",
                        std::get<Present>(place.wish("ro")).value.text_or("unit", ""));
    const auto made = mount::make_mount("/mnt/scratch", place.wish(), place.node);
    REQUIRE_FALSE(made);
    CHECK(made.error().message == refusal);
    CHECK(place.node.text_of("/proc/self/mountinfo")->find("/dev/sdb") != std::string::npos);
  }
  SECTION("also through an array of which the server's volume is a part") {
    place.node.put_file("/run/udev/data/b259:nvme1n1", "");
    place.node.put_file("/sys/class/block/md127/slaves/nvme1n1", "");
    place.node.put_file("/sys/class/block/md127p1/partition", "1\n");
    place.give_label("md127p1");
    CHECK(place.complaint().find("of /dev/md127p1, a volume of the NVMe server 10.0.0.66") != std::string::npos);
  }
  SECTION("also for volumes of two servers") {
    place.take_disk();
    place.node.put_file("/sys/class/block/nvme2n1/device/subsysnqn", "other\n");
    place.node.put_file("/sys/class/nvme/nvme1/subsysnqn", "other\n");
    place.node.put_file("/sys/class/nvme/nvme1/address", "traddr=10.0.0.9,trsvcid=4420\n");
    place.give_label("nvme2n1");
    CHECK(
        place.complaint().ends_with("of /dev/nvme1n1, a volume of the NVMe server 10.0.0.66, and of /dev/nvme2n1, a "
                                    "volume of the NVMe server 10.0.0.9"));
  }
  SECTION("with thousands of devices, the node cannot determine it, and names the server") {
    for (int i = 0; i < 4096; ++i) place.node.put_file("/sys/class/block/nvme1n1p" + std::to_string(i) + "/dev", "");
    CHECK(place.complaint() ==
          "there are more than 4096 block devices, with those of the NVMe server 10.0.0.66, so sparkplan cannot "
          "determine which of them have the name /dev/disk/by-label/scratch");
  }
}

TEST_CASE("mount: a volume of an NVMe server with the name of the node's disk does not count as that disk",
          "[storage]") {
  ContestedLabel place;
  CHECK(place.state_from("/dev/nvme1n1") ==
        "mounted from /dev/nvme1n1 (xfs), a volume of the NVMe server 10.0.0.66, which has its name in common with "
        "/dev/sdb");
  CHECK(place.state_from("/dev/sdb") == "mounted");
  for (int i = 0; i < 4096; ++i) place.node.put_file("/sys/class/block/nvme1n1p" + std::to_string(i) + "/dev", "");
  CHECK(place.state_from("/dev/sdb") == "mounted");
}

TEST_CASE("mount: a volume that was connected by hand is mounted by its label or UUID, unless another device has it",
          "[storage]") {
  ContestedLabel place;
  place.take_disk();
  SECTION("one device") {}
  SECTION("two of one server, such as the parts of a btrfs") { place.give_label("nvme1n2"); }
  if (place.node.text_of("/run/udev/data/b259:nvme1n2")) {
    place.node.put_file("/sys/class/block/nvme1n2/device/subsysnqn", "scratch\n");
  }
  CHECK(place.complaint().empty());
  CHECK(place.state_from("/dev/nvme1n1") == "mounted");
}

}  // namespace sparkplan::test
