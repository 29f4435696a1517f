// The section `storage`: what its two types make of it, and what programs that are not ours say to that.
#include "engine/resource/storage.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/core/text.h"
#include "engine/load/load.h"
#include "engine/process/child_process.h"
#include "engine/resource/mount_table.h"
#include "engine/resource/registry.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/mount_change.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_unit.h"
#include "resources/nvme_tcp/connection_change.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "resources/nvme_tcp/host_identity.h"
#include "tests/support/catch.h"
#include "tests/support/fake_storage.h"
#include "tests/unit/agent_scratch.h"

namespace sparkplan::test {
namespace {

std::vector<StorageMount> mounts_of(const std::string& storage) {
  const LoadedCluster loaded = load_cluster(
      "version: 1\nname: lab\nstorage:\n" + storage + "nodes: [{name: a, address: b}]\n", "f", builtin_registry());
  for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(render(one, loaded.source));
  REQUIRE(loaded.cluster);
  return storage_mounts(loaded.cluster->nodes.front().sections.at("storage"));
}

/// The findings of a file with this `storage` for all and these nodes, as "LINE CODE message".
std::vector<std::string> findings_of(const std::string& storage, const std::string& nodes) {
  const LoadedCluster loaded =
      load_cluster("version: 1\nname: lab\nstorage: " + storage + "\nnodes:\n" + nodes, "f", builtin_registry());
  std::vector<std::string> found;
  for (const Diagnostic& one : loaded.diagnostics) {
    found.push_back(std::to_string(one.where.line) + " " + one.code + " " + one.message);
  }
  return found;
}

const char* const kTwo = "  - {name: s1, address: a}\n  - {name: s2, address: b}\n";

std::string volume(const std::string& type, const std::string& options) {
  return "[{target: /mnt/a, type: " + type + ", options: [" + options +
         "], source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol}}}]";
}

bool is_program(const std::string& name) {
  return run_and_capture(std::vector<std::string>{name, "--version"}, {}).has_value();
}

/// Both streams.
std::string output_of(const std::vector<std::string>& argv) {
  const auto output = run_and_capture(argv, CaptureLimits{std::chrono::seconds{30}});
  REQUIRE(output);
  return output->standard_output + output->standard_error;
}

const std::vector<std::string> kPaths{"/mnt/models", "/mnt/rosa-models", "/mnt/my models/größe", "/srv/.hidden",
                                      "/.hidden",    "/mnt/a%b",         "/mnt/back\\slash",     "/mnt/a_b.c:d"};

}  // namespace

TEST_CASE("a unit's name for a path is what systemd-escape gives", "[storage]") {
  if (!is_program("systemd-escape")) SUCCEED("there is no systemd-escape here");
  for (const std::string& path : kPaths) {
    INFO(path);
    if (!is_program("systemd-escape")) continue;
    const std::string shown = output_of({"systemd-escape", "--path", "--suffix=mount", path});
    CHECK(mount::unit_name(path) == trim(shown));
  }
  CHECK(mount::unit_name("/mnt/rosa-models") == "mnt-rosa\\x2dmodels.mount");
  CHECK(escaped_unit_path("/") == "-");
}

TEST_CASE("what a mount unit says is read back from it, whatever is in the path", "[storage]") {
  for (const std::string& path : kPaths) {
    INFO(path);
    StorageMount one;
    one.target = path;
    one.kind = StorageKind::kBind;
    one.what = path + "x";
    one.type = "none";
    one.options = {"bind", "nofail", "comment=50%"};
    const std::string text = mount::render_unit(one);
    const mount::MountUnit unit = mount::parse_unit(text);
    CHECK(unit.what == one.what);
    CHECK(unit.type == one.type);
    CHECK(unit.options == one.options);
    CHECK(unit.enabled);
    CHECK(with_specifiers(unit_setting(text, "Mount", "Where").value_or("")) == path);
  }
}

TEST_CASE("mount units are what systemd-analyze and findmnt take for right", "[storage]") {
  const auto mounts = mounts_of(
      "  - {target: /mnt/my models, source: {tmpfs: {size: 1GiB}}, options: [nosuid]}\n"
      "  - {target: /mnt/home, source: {nfs: {server: fe80::1, path: /export/home}}}\n"
      "  - {target: /mnt/b, source: {bind: /var/tmp}}\n"
      "  - {target: /mnt/v, source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol}}, type: xfs, options: [ro]}\n");
  REQUIRE(mounts.size() == 4);
  CHECK(mounts[1].what == "[fe80::1]:/export/home");
  const ScratchDirectory scratch;
  std::vector<std::string> verify{"systemd-analyze", "verify", "--man=no", "--generators=no"};
  std::ofstream fstab(scratch.path() / "fstab");
  for (const StorageMount& one : mounts) {
    const std::string text = mount::render_unit(one);
    const auto file = scratch.path() / mount::unit_name(one.target);
    std::ofstream(file) << text;
    if (!one.nvme) verify.push_back(file.string());
    fstab << mount::fstab_line(mount::parse_unit(text), one.target);
  }
  fstab.close();
  if (is_program("systemd-analyze")) CHECK(output_of(verify).find(".mount:") == std::string::npos);
  if (!is_program("findmnt")) return;
  const std::string judged =
      output_of({"findmnt", "--verify", "--verbose", "--tab-file", (scratch.path() / "fstab").string()});
  INFO(judged);
  CHECK(judged.find("0 parse errors") != std::string::npos);
  for (const StorageMount& one : mounts) CHECK(judged.find(one.target + "\n") != std::string::npos);
}

TEST_CASE("a volume that is only read is read without its journal, and no mount holds up a boot", "[storage]") {
  const auto one = [](const std::string& type, const std::string& options) {
    return join(mounts_of("  " + std::string("- {target: /mnt/a, type: ") + type + ", options: [" + options +
                          "], source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol}}}\n")
                    .front()
                    .options,
                ",");
  };
  CHECK(one("ext4", "ro") == "noload,nofail,_netdev,ro");
  CHECK(one("ext4", "ro, noload") == "noload,nofail,_netdev,ro");
  CHECK(one("ext4", "ro, norecovery") == "norecovery,nofail,_netdev,ro");
  CHECK(one("ext4", "rw, ro, noatime") == "noatime,noload,nofail,_netdev,ro");
  CHECK(one("xfs", "ro") == "norecovery,nofail,_netdev,ro");
  CHECK(one("ext4", "ro, rw") == "ro,rw,nofail,_netdev");
  CHECK(one("btrfs", "ro") == "rescue=nologreplay,nofail,_netdev,ro");
  CHECK(one("gfs2", "ro") == "nofail,_netdev,ro");
  CHECK(one("ext4", "noatime") == "noatime,nofail,_netdev");
}

TEST_CASE("no option hides from mount(8) that a volume is only read", "[storage]") {
  // libmount takes all between two quotes for one option, the comma and the "ro" behind it, too.
  const auto is_refused = [](const std::string& options) {
    const auto found = findings_of(volume("ext4", options), kTwo);
    return std::any_of(found.begin(), found.end(),
                       [](const std::string& one) { return one.starts_with("3 schema.pattern "); });
  };
  CHECK(is_refused("'x-a=\"', ro, 'b\"'"));
  CHECK(is_refused("'a\\b', ro"));
  CHECK_FALSE(is_refused("x-a=b, ro"));
  CHECK_FALSE(mount::parse_unit("[Mount]\nOptions=x-a=\",ro,b\"\n").read_only());
  CHECK(mount::parse_unit("[Mount]\nOptions=rw,ro\n").read_only());
}

TEST_CASE("one file system for one machine is written by one node at most", "[storage]") {
  const auto both = findings_of(volume("ext4", "noatime"), kTwo);
  REQUIRE(both.size() == 1);
  CHECK(both.front().starts_with("3 storage.two-writers s1 and s2 would both write to the ext4 on "));
  CHECK(findings_of(volume("ext4", "ro"), kTwo).empty());
  CHECK(findings_of(volume("gfs2", "noatime"), kTwo).empty());
  const auto by_device = [](const std::string& device, const char* options = "rw") {
    const auto found = findings_of(
        "[{target: /a, type: xfs, options: [" + std::string(options) + "], source: {device: " + device + "}}]", kTwo);
    return found.empty() ? std::string() : std::string(split(found.front(), ' ')[1]);
  };
  CHECK(by_device("LABEL=own") == "storage.maybe-two-writers");
  CHECK(by_device("/dev/mapper/mpatha") == "storage.maybe-two-writers");
  CHECK(by_device("LABEL=own", "ro").empty());
  CHECK(by_device("/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.a-lun-1") == "storage.two-writers");
  CHECK(by_device("/dev/disk/by-path/pci-0004:01:00.0-nvme-1") == "storage.maybe-two-writers");
  const auto two_names = findings_of(
      volume("ext4", "noatime"),
      "  - {name: s1, address: a}\n  - {name: s2, address: b, storage: [{target: /mnt/a, source: {nvme_tcp: null, "
      "device: /dev/disk/by-id/sparkplan-nvme-vol-1}}]}\n");
  REQUIRE(two_names.size() == 1);
  CHECK(two_names.front().find("storage.two-writers s1 and s2") != std::string::npos);
  CHECK(findings_of("[{target: /a, type: xfs, source: {device: UUID=a-b}}]", kTwo).size() == 1);
  const std::string one_writer =
      "  - {name: s1, address: a}\n  - {name: s2, address: b, storage: [{target: /mnt/a, options: [rw]}]}\n";
  const auto warned = findings_of(volume("xfs", "ro"), one_writer);
  REQUIRE(warned.size() == 1);
  CHECK(warned.front().starts_with("3 storage.reads-beside-a-writer s1 reads the xfs"));
}

TEST_CASE("what a mount unit could not have is refused where it stands", "[storage]") {
  const auto code = [](const std::string& entry) {
    const auto found = findings_of("[" + entry + "]", kTwo);
    return found.empty() ? std::string() : std::string(split(found.front(), ' ')[1]);
  };
  CHECK(code("{target: /mnt/a/, source: {bind: /b}}") == "mount.path");
  CHECK(code("{target: /mnt//a, source: {bind: /b}}") == "mount.path");
  CHECK(code("{target: /usr, source: {bind: /b}}") == "mount.system-directory");
  CHECK(code("{target: /proc/a, source: {bind: /b}}") == "mount.system-directory");
  CHECK(code("{target: /mnt/a, source: {bind: /mnt}}") == "mount.bind-into-itself");
  CHECK(code("{target: /mnt/a, source: {bind: /srv/b/x}}, {target: /srv/b, source: {bind: /mnt/a/x}}") ==
        "mount.circle");
  CHECK(code("{target: /mnt/a, source: {tmpfs: {size: 1G}}, options: [size=2G]}") == "mount.option");
  for (const char* option : {"ro=fs", "rw=recursive", "move", "bind", "rbind"}) {
    INFO(option);
    CHECK(code("{target: /mnt/a, type: gfs2, source: {device: UUID=a}, options: [ro, " + std::string(option) + "]}") ==
          "mount.option");
  }
  CHECK(code("{target: /mnt/a, source: {bind: /b}, options: [bind]}").empty());
  CHECK(code("{target: /mnt/a, source: {bind: /b}, options: [exec, noexec]}") == "mount.option");
  CHECK(code("{target: /mnt/a, source: {device: UUID=a}, type: gfs2, options: [noload]}") == "mount.option");
  CHECK(code("{target: /mnt/a, source: {device: /dev/disk/by-id//x}, type: gfs2}") == "mount.path");
  CHECK(code("{target: /mnt/a, source: {device: /dev/disk/../nvme1n1}, type: gfs2}") == "mount.path");
  CHECK(code("{target: /mnt/a, source: {}}") == "mount.one-source");
  CHECK(code("{target: /mnt/a, source: {bind: /b, tmpfs: {size: 1G}}}") == "mount.one-source");
  CHECK(code("{target: /mnt/a, source: {bind: /b}, type: ext4}") == "mount.needless-type");
  CHECK(code("{target: /mnt/a, source: {bind: /b}, options: [x-systemd.automount]}") == "mount.option");
  CHECK(code("{target: /mnt/a, source: {device: LABEL=a}}") == "list.missing-key");
  CHECK(code("{target: /mnt/a, source: {device: /dev/nvme1n1}, type: ext4}") == "schema.pattern");
  CHECK(code("{target: /mnt/a, source: {nfs: {server: 10.0.0.999, path: /a}}}") == "storage.address");
  CHECK(code("{target: /mnt/a, type: gfs2, source: {nvme_tcp: {address: a, subsystem: \"x y\"}}}") == "schema.pattern");
  CHECK(code("{target: /mnt/" + std::string(80, '-') + ", source: {bind: /b}}") == "mount.path");
  CHECK(code("{target: /a, type: gfs2, source: {nvme_tcp: {address: a, subsystem: x}}}, {target: /b, type: gfs2, "
             "source: {nvme_tcp: {address: b, subsystem: x}}}") == "nvme_tcp.two-servers");
}

TEST_CASE("mountinfo and fstab are read with their octal blanks", "[storage]") {
  const auto mounts = parse_mountinfo(
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
      "36 22 259:0 / /mnt/my\\040models ro,noatime shared:7 master:2 - ext4 /dev/nvme0n1 ro,norecovery\n"
      "37 22 0:40 / /mnt/my\\040models rw - tmpfs tmpfs rw,size=4k\nnonsense\n");
  REQUIRE(mounts.size() == 3);
  CHECK(mounts[1].target == "/mnt/my models");
  CHECK(mounts[1].read_only());
  CHECK(mounts[1].has_option("norecovery"));
  REQUIRE(mounted_at(mounts, "/mnt/my models") != nullptr);
  CHECK(mounted_at(mounts, "/mnt/my models")->type == "tmpfs");
  CHECK(mounted_at(mounts, "/mnt") == nullptr);
  const auto lines = parse_fstab("# comment\n\nUUID=1 / ext4\n/dev/sda1 /mnt/my\\040models/ xfs\nswap\n");
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].line == 4);
  CHECK(lines[1].target == "/mnt/my models");
}

TEST_CASE("the unit of a connection is right for systemd, and says where it connects to", "[storage]") {
  nvme_tcp::Connection one;
  one.server = {"fe80::1", 4421, "nqn.2014-08.org.nvmexpress:uuid:1", 1};
  one.mount_units = {"mnt-rosa\\x2dmodels.mount"};
  const std::string text = nvme_tcp::render_unit(one);
  const auto server = nvme_tcp::server_in(text);
  REQUIRE(server);
  CHECK(server->address == "fe80::1");
  CHECK(server->port == 4421);
  CHECK_FALSE(nvme_tcp::server_in("[Service]\nExecStart=/bin/true\n"));
  CHECK(text.find("start -- mnt-rosa\\\\x2dmodels.mount\n") != std::string::npos);
  if (!is_program("systemd-analyze")) return;
  const ScratchDirectory scratch;
  const auto file = scratch.path() / "sparkplan-nvme-x.service";
  std::ofstream(file) << text;
  const std::string judged = output_of({"systemd-analyze", "verify", "--man=no", "--generators=no", file.string()});
  INFO(judged);
  CHECK(judged.find("Unknown") == std::string::npos);
  CHECK(judged.find("Invalid") == std::string::npos);
}

TEST_CASE("why a server cannot be connected to is told by the latest words about it", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/usr/sbin/nvme", "");
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "models", 1};
  const Present wanted{Value::map({{nvme_tcp::field::kContent, nvme_tcp::render_unit(one), {}},
                                   {nvme_tcp::field::kEnabled, true, {}},
                                   {nvme_tcp::field::kState, nvme_tcp::state::kConnected, {}}}),
                       {}};
  const auto told = [&](const std::string& of_unit, const std::string& of_kernel) {
    node.add_program("journalctl", [=](const FakeNode::Call& call) -> Result<CommandOutput> {
      return CommandOutput{0, call.argv.at(1) == "--dmesg" ? of_kernel : of_unit, {}};
    });
    const auto made = nvme_tcp::make_connection("models", wanted, node);
    return made ? std::string() : made.error().message;
  };
  const std::string silent = "the server at 10.0.0.9 port 4420 does not answer";
  const std::string closed = "nothing listens at 10.0.0.9 port 4420";
  const std::string refused = "the server at 10.0.0.9 port 4420 refuses models";
  CHECK(told("", "nvme nvme0: failed to connect socket: -111\n") == closed);
  CHECK(told("", "nvme nvme0: failed to connect socket: -113\n") == silent);
  CHECK(told("sparkplan-nvme-models.service: start operation timed out. Terminating.\n", "") == silent);
  const std::string refusal = "nvme nvme0: Connect Invalid Data Parameter, subsysnqn \"models\"\n";
  CHECK(told("", "nvme nvme0: failed to connect socket: -111\n" + refusal) == refused);
  CHECK(told("could not add new controller: connection refused\nStarting NVMe over TCP\n", refusal) == refused);
  SECTION("but for those from before this start") {
    node.add_program("date", [](const FakeNode::Call&) -> Result<CommandOutput> {
      return CommandOutput{0, "@1700000000.123456\n", {}};
    });
    node.add_program("journalctl", [&](const FakeNode::Call& call) -> Result<CommandOutput> {
      return CommandOutput{0, call.argv.back() == "--since=@1700000000.123456" ? "" : refusal, {}};
    });
    CHECK(nvme_tcp::make_connection("models", wanted, node).error().message ==
          "systemctl start sparkplan-nvme-models.service: Job for sparkplan-nvme-models.service failed.");
  }
  const std::string of_another = "nvme nvme0: Connect Invalid Data Parameter, subsysnqn \"models-2\"\n";
  CHECK(told("", of_another + "nvme nvme1: failed to connect socket: -111\n") == closed);
  CHECK(told("", "nvme nvme1: failed to connect socket: -111\n" + of_another) == closed);
}

TEST_CASE("a device without the declared file system is not mounted", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.add_special("/dev/sdb");
  const mount::MountUnit unit{"/dev/sdb", "ext4", {}, true};
  const auto complaint = [&] {
    const auto checked = mount::check_device(unit, mount::Patience::kNone, node);
    return checked ? std::string() : checked.error().message + " / " + checked.error().hint;
  };
  CHECK(complaint().find("/dev/sdb holds no file system, not ext4 / sparkplan never formats") == 0);
  node.put_file("/fake/devices/sdb", "xfs");
  CHECK(complaint().find("/dev/sdb holds the file system xfs, not ext4 / is it the right volume?") == 0);
  node.put_file("/fake/devices/sdb", "ext4");
  CHECK(complaint().empty());
  node.erase("/dev/sdb");
  CHECK(complaint().find("there is no /dev/sdb") == 0);
}

TEST_CASE("who uses a mount is named: processes, and mounts below it", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mount(node, "tmpfs", "/mnt/a", "tmpfs", "rw");
  CHECK_FALSE(mount::in_use("/mnt/a", {}, node));
  add_mount(node, "tmpfs", "/mnt/a/b", "tmpfs", "rw");
  add_mount(node, "tmpfs", "/mnt/ab", "tmpfs", "rw");
  auto used = mount::in_use("/mnt/a", {}, node);
  REQUIRE(used);
  CHECK(used->message == "/mnt/a is in use by the mount at /mnt/a/b");
  CHECK_FALSE(mount::in_use("/mnt/a", {"/mnt/a/b"}, node));
  node.add_program("find", [](const FakeNode::Call&) -> Result<CommandOutput> {
    return CommandOutput{0, "/proc/4711/cwd\n/proc/4711/fd/3\n", {}};
  });
  node.put_file("/proc/4711/comm", "python3\n");
  used = mount::in_use("/mnt/a", {"/mnt/a/b"}, node);
  REQUIRE(used);
  CHECK(used->message == "/mnt/a is in use by python3 (4711)");
  CHECK(used->code == ErrorCode::kRefused);
}

TEST_CASE("what was mounted without its journal becomes writable by a mount anew, never in place", "[storage]") {
  const auto unit_with = [](const std::string& options) {
    return mount::render_unit(
        mounts_of("  - {target: /mnt/a, type: ext4, options: [" + options + "], source: {device: UUID=a-b}}\n")
            .front());
  };
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/run/udev/data/b259:sdb", "S:disk/by-uuid/a-b\n");
  node.put_file("/fake/devices/sdb", "ext4");
  node.add_special("/dev/disk/by-uuid/a-b");
  const auto want = [&](const std::string& options, const std::string& state) -> Observation {
    return Present{Value::map({{"unit", unit_with(options), {}}, {"enabled", true, {}}, {"state", state, {}}}), {}};
  };
  const auto mounted = [&] { return *mounted_at(parse_mountinfo(*node.text_of("/proc/self/mountinfo")), "/mnt/a"); };
  REQUIRE(mount::make_mount("/mnt/a", want("ro", "mounted"), node));
  REQUIRE(mounted().has_option("norecovery"));
  SECTION("its unit says so") {
    REQUIRE(mount::make_mount("/mnt/a", want("noatime", "mounted"), node));
    CHECK_FALSE(mounted().read_only());
    CHECK_FALSE(mounted().has_option("norecovery"));
  }
  SECTION("not while somebody uses it") {
    node.add_program("find", [](const FakeNode::Call&) -> Result<CommandOutput> {
      return CommandOutput{0, "/proc/4711/cwd\n", {}};
    });
    node.put_file("/proc/4711/comm", "python3\n");
    const auto made = mount::make_mount("/mnt/a", want("noatime", "mounted"), node);
    REQUIRE_FALSE(made);
    CHECK(made.error().message.find("/mnt/a is in use by python3 (4711)") != std::string::npos);
    CHECK(mounted().read_only());
  }
  SECTION("nor to undo what somebody had done by hand") {
    const auto made = mount::make_mount("/mnt/a", want("ro", "mounted with rw"), node);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::kRefused);
    CHECK(mounted().read_only());
  }
  SECTION("and one that somebody made writable in place is a difference") {
    node.put_file("/proc/self/mountinfo", "");
    add_mount(node, "/dev/sdb", "/mnt/a", "ext4", "rw,norecovery");
    const auto how = mount::compare_mounted(mounted(), mount::parse_unit(unit_with("noatime")), node);
    REQUIRE(how);
    CHECK(*how == "mounted with norecovery");
  }
}

TEST_CASE("a connection is used by whoever holds its volume: partitions and containers, too", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/fake/servers/vol", "nvme1n1");
  connect_subsystem(node, "vol", "10.0.0.9", 4420);
  const auto users = [&](bool besides_ours = false) {
    const auto found = nvme_tcp::users_of("vol", besides_ours, node);
    return found ? join(*found, "; ") : "error: " + found.error().message;
  };
  CHECK(users().empty());
  SECTION("a mounted partition") {
    node.put_file("/sys/class/block/nvme1n1p1/partition", "1\n");
    add_mount(node, "/dev/nvme1n1p1", "/mnt/by-hand", "ext4", "rw");
    CHECK(users() == "the mount at /mnt/by-hand");
    CHECK(users(true) == "the mount at /mnt/by-hand");
  }
  SECTION("a device on top of a partition") {
    node.put_file("/sys/class/block/nvme1n1p1/partition", "1\n");
    node.put_file("/sys/class/block/nvme1n1p1/holders/dm-0", "");
    CHECK(users() == "the device dm-0");
  }
  SECTION("what is mounted in a container only") {
    node.put_file("/fake/held", "/dev/nvme1n1\n");
    CHECK(users() == "somebody who holds nvme1n1, in a container perhaps");
    const auto gone = nvme_tcp::make_connection("vol", Absent{}, node);
    REQUIRE_FALSE(gone);
    CHECK(gone.error().code == ErrorCode::kRefused);
    CHECK(node.text_of("/sys/class/nvme/nvme0/subsysnqn") == "vol");
  }
  SECTION("nobody can tell") {
    node.add_program("perl", [](const FakeNode::Call&) -> Result<CommandOutput> {
      return CommandOutput{1, {}, "Input/output error"};
    });
    CHECK(users() == "error: nobody can tell whether /dev/nvme1n1 is in use: Input/output error");
  }
}

TEST_CASE("who could not be looked for is not taken for nobody", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mount(node, "tmpfs", "/mnt/a", "tmpfs", "rw");
  node.add_program("find", [](const FakeNode::Call&) -> Result<CommandOutput> { return CommandOutput{137, {}, {}}; });
  const auto used = mount::in_use("/mnt/a", {}, node);
  REQUIRE(used);
  CHECK(used->message == "nobody can tell who uses /mnt/a: find ended with status 137");
}

TEST_CASE("the largest number of a namespace stays what it is", "[storage]") {
  const auto mounts = mounts_of(
      "  - {target: /mnt/a, type: ext4, source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol, namespace: "
      "4294967294}}}\n");
  CHECK(mounts.front().what == "/dev/disk/by-id/sparkplan-nvme-vol-4294967294");
}

TEST_CASE("a tmpfs is asked for in whole pages, as the kernel shows it", "[storage]") {
  const auto mounts = mounts_of("  - {target: /mnt/a, source: {tmpfs: {size: 1.5GB}}}\n");
  CHECK(mounts.front().options.front() == "size=1500053504");
}

TEST_CASE("a bind of what is read only is what was asked for, and its source is quoted", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mount(node, "/dev/sdb", "/mnt/a", "ext4", "ro");
  node.add_directory("/srv/a\"b");
  const auto mounts = mounts_of("  - {target: /mnt/a, source: {bind: '/srv/a\"b'}}\n");
  const std::string text = mount::render_unit(mounts.front());
  CHECK(text.find("RequiresMountsFor=\"/srv/a\\\"b\"\n") != std::string::npos);
  auto unit = mount::parse_unit(text);
  unit.what = "/mnt/a";
  const auto there = *mounted_at(parse_mountinfo(*node.text_of("/proc/self/mountinfo")), "/mnt/a");
  const auto how = mount::compare_mounted(there, unit, node);
  REQUIRE(how);
  CHECK(*how == "mounted");
}

TEST_CASE("a directory below which something is mounted is not asked itself: its server may be gone", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mount(node, "10.0.0.9:/a", "/mnt/a", "nfs4", "rw");
  node.erase("/mnt/a");
  const auto observed = builtin_registry().find("mount")->observe({{"/mnt/a"}}, node);
  const auto directory = observed.artifacts.find({"directory", "/mnt/a"});
  REQUIRE(directory != observed.artifacts.end());
  CHECK(std::holds_alternative<Present>(directory->second));
}

TEST_CASE("what is bound is told by the kernel's table: the server that it comes from may be gone", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const auto bound_from = [&](const std::string& what, const std::string& root) {
    node.put_file("/proc/self/mountinfo",
                  "22 1 254:0 / / rw - ext4 /dev/root rw\n"
                  "36 22 0:40 /export /mnt/a rw - nfs4 10.0.0.9:/export rw\n"
                  "37 22 0:40 " +
                      root + " /srv/b rw - nfs4 10.0.0.9:/export rw\n");
    const auto there = *mounted_at(parse_mountinfo(*node.text_of("/proc/self/mountinfo")), "/srv/b");
    const auto how = mount::compare_mounted(there, {what, "none", {"bind"}, true}, node);
    return how ? *how : "error: " + how.error().message;
  };
  CHECK(bound_from("/mnt/a/hf", "/export/hf") == "mounted");
  CHECK(bound_from("/mnt/a", "/export") == "mounted");
  CHECK(bound_from("/mnt/a/hf", "/export/other") == "mounted from 10.0.0.9:/export (nfs4)");
  CHECK(bound_from("/mnt/ab", "/exportb") == "mounted from 10.0.0.9:/export (nfs4)");
}

TEST_CASE("a subsystem that somebody connected to another address is taken over", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/fake/servers/vol", "nvme1n1");
  connect_subsystem(node, "vol", "10.0.0.1", 4420);
  // A unit that is not up is stopped without any effect.
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "vol", 1};
  const Observation wanted = Present{
      Value::map({{"unit", nvme_tcp::render_unit(one), {}}, {"enabled", true, {}}, {"state", "connected", {}}}), {}};
  node.put_file("/fake/inactive", "sparkplan-nvme-vol.service\n");
  const auto made = nvme_tcp::make_connection("vol", wanted, node);
  INFO((made ? "" : made.error().message));
  REQUIRE(made);
  CHECK(node.text_of("/sys/class/nvme/nvme0/address") == "traddr=10.0.0.9,trsvcid=4420");
}

TEST_CASE("a node does not write to what another one still writes to", "[storage]") {
  FakeNode writer;
  install_fake_storage(writer);
  writer.put_file("/fake/servers/vol", "nvme1n1");
  connect_subsystem(writer, "vol", "10.0.0.9", 4420);
  add_mount(writer, "/dev/nvme1n1", "/mnt/a", "ext4", "rw");
  FakeNode idle;
  install_fake_storage(idle);
  const LoadedCluster loaded =
      load_cluster("version: 1\nname: lab\nnodes:\n  - {name: s1, address: a, storage: " + volume("ext4", "ro") +
                       "}\n  - {name: s2, address: b, storage: " + volume("ext4", "rw") + "}\n",
                   "f", builtin_registry());
  REQUIRE(loaded.cluster);
  const ResourceType& type = *builtin_registry().find("mount");
  const Cluster& cluster = *loaded.cluster;
  const Value& section = cluster.nodes.at(1).sections.at("storage");
  std::map<std::string, NodeExports> exports;
  const auto tell = [&](const std::string& name, const FakeNode& node) {
    const auto told = type.exports(section, node);
    REQUIRE(told);
    exports[name]["mount"] = *told;
  };
  const auto desired = [&] { return type.desired(ClusterView{cluster, cluster.nodes.at(1), exports}, section, {}); };
  SECTION("it still does") {
    tell("s1", writer);
    tell("s2", idle);
    const Desired found = desired();
    CHECK(found.resources.empty());
    CHECK(found.incomplete);
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().message.starts_with("s1 still writes to \"nvme_tcp vol namespace 1\""));
    CHECK(found.diagnostics.front().hint == "apply that node first: `sparkplan apply --only s1`");
  }
  SECTION("it leaves the cluster, and still does") {
    tell("s1", idle);
    tell("s2", idle);
    tell("s7", writer);
    const Desired found = desired();
    CHECK(found.resources.empty());
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().hint == "let that node go first: `sparkplan release s7`");
  }
  SECTION("its unit would, once the server is back") {
    writer.put_file("/proc/self/mountinfo", "");
    StorageMount unmounted;
    unmounted.target = "/mnt/a";
    unmounted.kind = StorageKind::kNvmeTcp;
    unmounted.nvme = NvmeTcpVolume{"10.0.0.9", 4420, "vol", 1};
    unmounted.what = nvme_device_link(*unmounted.nvme);
    unmounted.type = "ext4";
    const auto finds = [&](bool live) {
      writer.set_live(live);
      writer.put_file("/etc/systemd/system/mnt-a.mount", mount::render_unit(unmounted));
      tell("s1", writer);
      tell("s2", idle);
      const Desired found = desired();
      CHECK(found.resources.size() == (found.diagnostics.empty() ? 1U : 0U));
      return found.diagnostics.empty() ? std::string() : found.diagnostics.front().message;
    };
    const std::string would =
        "s1 would write again, by /etc/systemd/system/mnt-a.mount, to \"nvme_tcp vol namespace 1\"";
    CHECK(finds(true).starts_with(would));
    CHECK(finds(false).starts_with(would));
    unmounted.options = {"ro"};
    CHECK(finds(true).empty());
  }
  SECTION("a line of its fstab would") {
    writer.put_file("/proc/self/mountinfo", "");
    const auto finds = [&](const std::string& line) {
      writer.put_file("/etc/fstab", "# lines\n" + line + "\n");
      tell("s1", writer);
      tell("s2", idle);
      const Desired found = desired();
      return found.diagnostics.empty() ? std::string() : found.diagnostics.front().message;
    };
    const std::string would = "s1 would write again, by /etc/fstab:2, to \"nvme_tcp vol namespace 1\"";
    const std::string link = "/dev/disk/by-id/sparkplan-nvme-vol-1 /mnt/b ";
    CHECK(finds(link + "ext4 defaults 0 0").starts_with(would));
    CHECK(finds(link + "auto").starts_with(would));
    CHECK(finds(link + "ext4 noauto,x-systemd.automount 0 0").starts_with(would));
    CHECK(finds("/dev/nvme1n1 /mnt/b ext4 defaults 0 0").starts_with(would));
    CHECK(finds("UUID=\"a-b\" /mnt/b ext4 defaults 0 0").empty());
    CHECK(display(exports["s1"]["mount"]).find("/dev/disk/by-uuid/a-b") != std::string::npos);
    CHECK(finds(link + "ext4 noauto 0 0").empty());
    CHECK(finds(link + "ext4 defaults,ro 0 0").empty());
    CHECK(finds(link + "gfs2 defaults 0 0").empty());
  }
  SECTION("it does not any more") {
    tell("s1", idle);
    tell("s2", idle);
    CHECK(desired().resources.size() == 1);
    CHECK(desired().diagnostics.empty());
  }
  SECTION("it cannot be asked") {
    tell("s2", idle);
    const Desired found = desired();
    CHECK(found.resources.size() == 1);
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().severity == Severity::kWarning);
  }
  SECTION("it cannot be asked, and nothing changes here") {
    tell("s2", writer);
    CHECK(desired().diagnostics.empty());
  }
}

TEST_CASE("a connection that comes late brings what is bound from its volumes, too", "[storage]") {
  const LoadedCluster loaded = load_cluster(
      "version: 1\nname: lab\nstorage:\n"
      "  - {target: /mnt/v, type: gfs2, source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol}}}\n"
      "  - {target: /srv/b, source: {bind: /srv/a/x}}\n"
      "  - {target: /srv/a, source: {bind: /mnt/v/a}}\n"
      "  - {target: /mnt/v/tmp, source: {tmpfs: {size: 1G}}}\n"
      "  - {target: /mnt/vx, source: {tmpfs: {size: 1G}}}\n"
      "nodes: [{name: a, address: b}]\n",
      "f", builtin_registry());
  REQUIRE(loaded.cluster);
  const auto all = nvme_tcp::connections(loaded.cluster->nodes.front().sections.at("storage"));
  REQUIRE(all.size() == 1);
  CHECK(all.front().mount_units ==
        std::vector<std::string>{"mnt-v-tmp.mount", "mnt-v.mount", "srv-a.mount", "srv-b.mount"});
}

TEST_CASE("a node's identity is made once, and both halves of it agree", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const Observation there = Present{Value::map({{"there", true, {}}}), {}};
  REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostNqnFile, there, node));
  const auto nqn = node.text_of(nvme_tcp::kHostNqnFile);
  CHECK(nqn == "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555\n");
  node.add_kernel_file("/proc/sys/kernel/random/uuid", {"99999999-2222-4333-8444-555555555555", {}, {}, {}});
  REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostIdFile, there, node));
  CHECK(node.text_of(nvme_tcp::kHostIdFile) == "11111111-2222-4333-8444-555555555555\n");
  REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostNqnFile, there, node));
  CHECK(node.text_of(nvme_tcp::kHostNqnFile) == nqn);
}

}  // namespace sparkplan::test
