// Storage on a node: its state, its users, and the reasons that block a change.
#include "engine/core/text.h"
#include "engine/node/mount_table.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_steps.h"
#include "resources/mount/mount_unit.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "resources/nvme_tcp/host_identity.h"
#include "tests/support/fake_storage.h"
#include "tests/unit/resources/storage/storage_entries.h"

namespace sparkplan::test {

namespace {

/// The connection to the subsystem "models" at 10.0.0.9.
Present connected_to_models() {
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "models", 1};
  return {Value::map({{nvme_tcp::field::kContent, nvme_tcp::render_unit(one)},
                      {nvme_tcp::field::kEnabled, true},
                      {nvme_tcp::field::kState, nvme_tcp::state::kConnected}}),
          {}};
}

}  // namespace

TEST_CASE("the latest log lines about a server explain a failed connection", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/usr/sbin/nvme", "");
  const Present wanted = connected_to_models();
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
  CHECK(told("sh: " + std::string(nvme_tcp::kNamesAnother) + "models\n", "") ==
        "the server at 10.0.0.9 port 4420 names another subsystem than models: it could take the place of another "
        "server");
  CHECK(told("", "nvme nvme0: failed to connect socket: -113\n") == silent);
  const std::string timed_out = "sparkplan-nvme-models.service: start operation timed out. Terminating.\n";
  CHECK(told(timed_out, "") == "no connection to the server at 10.0.0.9 port 4420 within the unit's time");
  CHECK(told(timed_out, "nvme nvme0: failed to connect socket: -110\n") == silent);
  const std::string refusal = "nvme nvme0: Connect Invalid Data Parameter, subsysnqn \"models\"\n";
  CHECK(told("", "nvme nvme0: failed to connect socket: -111\n" + refusal) == refused);
  CHECK(told("could not add new controller: connection refused\nStarting NVMe over TCP\n", refusal) == refused);
  const std::string unknown = "nvme: an error that nobody knows, in a line longer than a short text";
  CHECK(
      told("Starting NVMe over TCP\n" + unknown + "\nsparkplan-nvme-models.service: Failed with result 'exit-code'.\n",
           "")
          .ends_with(": " + unknown));
  SECTION("older lines are ignored") {
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

TEST_CASE("the kernel's lines about the controller of another server explain no failed connection", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/usr/sbin/nvme", "");
  const Present wanted = connected_to_models();
  const auto told = [&](const std::string& of_kernel) {
    node.add_program("journalctl", [=](const FakeNode::Call& call) -> Result<CommandOutput> {
      return CommandOutput{0, call.argv.at(1) == "--dmesg" ? of_kernel : "", {}};
    });
    const auto made = nvme_tcp::make_connection("models", wanted, node);
    return made ? std::string() : made.error().message;
  };
  const auto add = [&](const std::string& controller, const std::string& subsystem, const std::string& address) {
    const std::string place = "/sys/class/nvme/" + controller + "/";
    node.put_file(place + "subsysnqn", subsystem);
    node.put_file(place + "transport", "tcp");
    node.put_file(place + "address", address);
    node.put_file(place + "state", "connecting");
  };
  add("nvme5", "scratch", "traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.2");
  add("nvme6", "backups", "traddr=10.0.0.9,trsvcid=4420,src_addr=10.0.0.2");
  const std::string of_another = "nvme nvme5: failed to connect socket: -111\n";
  const std::string closed = "nothing listens at 10.0.0.9 port 4420";
  const std::string refused = "the server at 10.0.0.9 port 4420 refuses models";
  const std::string refusal = "nvme nvme7: Connect Invalid Data Parameter, subsysnqn \"models\"\n";
  CHECK(told(of_another).ends_with("Job for sparkplan-nvme-models.service failed."));
  CHECK(told("nvme nvme5: Connect rejected, subsysnqn \"scratch\"\n" + of_another).ends_with("service failed."));
  // Another subsystem of the same server shows that nothing listens there.
  CHECK(told("nvme nvme6: failed to connect socket: -111\n" + of_another) == closed);
  // The controller of a first attempt is gone by now. It may belong to another server, unless it names the subsystem.
  CHECK(told("nvme nvme7: failed to connect socket: -111\n" + of_another) == closed);
  CHECK(told(refusal + "nvme nvme8: failed to connect socket: -111\n" + of_another) == refused);
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
  CHECK(complaint().find("/dev/sdb holds the file system xfs, not ext4 / if it is the right volume") == 0);
  node.put_file("/fake/devices/sdb", "ext4");
  CHECK(complaint().empty());
  node.erase("/dev/sdb");
  CHECK(complaint().find("there is no /dev/sdb") == 0);
}

TEST_CASE("users of a mount are named: processes, and mounts below it", "[storage]") {
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

TEST_CASE("a mount without its journal becomes writable only by a new mount, never by a remount", "[storage]") {
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
    return Present{Value::map({{"unit", unit_with(options)}, {"enabled", true}, {"state", state}}), {}};
  };
  const auto mounted = [&] { return *mounted_at(parse_mountinfo(*node.text_of("/proc/self/mountinfo")), "/mnt/a"); };
  REQUIRE(mount::make_mount("/mnt/a", want("ro", "mounted"), node));
  REQUIRE(mounted().has_option("norecovery"));
  SECTION("the unit is writable") {
    REQUIRE(mount::make_mount("/mnt/a", want("noatime", "mounted"), node));
    CHECK_FALSE(mounted().read_only());
    CHECK_FALSE(mounted().has_option("norecovery"));
  }
  SECTION("the mount is in use") {
    node.add_program("find", [](const FakeNode::Call&) -> Result<CommandOutput> {
      return CommandOutput{0, "/proc/4711/cwd\n", {}};
    });
    node.put_file("/proc/4711/comm", "python3\n");
    const auto made = mount::make_mount("/mnt/a", want("noatime", "mounted"), node);
    REQUIRE_FALSE(made);
    CHECK(made.error().message.find("/mnt/a is in use by python3 (4711)") != std::string::npos);
    CHECK(mounted().read_only());
  }
  SECTION("an undo does not restore a writable mount made by hand") {
    const auto made = mount::make_mount("/mnt/a", want("ro", "mounted with rw"), node);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::kRefused);
    CHECK(mounted().read_only());
  }
  SECTION("a mount made writable in place is a difference") {
    node.put_file("/proc/self/mountinfo", "");
    add_mount(node, "/dev/sdb", "/mnt/a", "ext4", "rw,norecovery");
    const auto how = mount::compare_mounted(mounted(), mount::parse_unit(unit_with("noatime")), node);
    REQUIRE(how);
    CHECK(*how == "mounted with norecovery");
  }
}

TEST_CASE("a connection is in use if a partition, device or container holds its volume", "[storage]") {
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
  SECTION("a text that a server or a user words is no device") {
    add_mount(node, "10.0.0.66:/x/nvme1n1", "/mnt/a/nvme1n1", "nfs4", "rw");
    node.put_file("/proc/self/mountinfo", *node.text_of("/proc/self/mountinfo") +
                                              "50 1 0:60 / /home/alice/m rw - fuse.x /dev/nvme1n1 rw,user_id=1000\n");
    CHECK(users().empty());
    CHECK(users(true).empty());
  }
  SECTION("a device on top of a partition") {
    node.put_file("/sys/class/block/nvme1n1p1/partition", "1\n");
    node.put_file("/sys/class/block/nvme1n1p1/holders/dm-0", "");
    CHECK(users() == "the device dm-0");
  }
  SECTION("a mount that only a container has") {
    node.put_file("/fake/held", "/dev/nvme1n1\n");
    CHECK(users() == "an unknown holder of nvme1n1, perhaps in a container");
    const auto gone = nvme_tcp::make_connection("vol", Absent{}, node);
    REQUIRE_FALSE(gone);
    CHECK(gone.error().code == ErrorCode::kRefused);
    CHECK(node.text_of("/sys/class/nvme/nvme0/subsysnqn") == "vol");
  }
  SECTION("the use is unknown") {
    node.add_program("perl", [](const FakeNode::Call&) -> Result<CommandOutput> {
      return CommandOutput{1, {}, "Input/output error"};
    });
    CHECK(users() == "error: cannot determine whether /dev/nvme1n1 is in use: Input/output error");
  }
}

TEST_CASE("an unknown user counts as a user", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mount(node, "tmpfs", "/mnt/a", "tmpfs", "rw");
  node.add_program("find", [](const FakeNode::Call&) -> Result<CommandOutput> { return CommandOutput{137, {}, {}}; });
  const auto used = mount::in_use("/mnt/a", {}, node);
  REQUIRE(used);
  CHECK(used->message == "cannot determine which processes use /mnt/a: find ended with status 137");
}

TEST_CASE("a bind of a read-only source is correct, and its source is quoted", "[storage]") {
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

TEST_CASE("a directory below a mount is not accessed, because its server may be unreachable", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  add_mount(node, "10.0.0.9:/a", "/mnt/a", "nfs4", "rw");
  node.erase("/mnt/a");
  const auto observed = builtin_registry().find("mount")->observe({{"/mnt/a"}}, node);
  const auto directory = observed.artifacts.find({"directory", "/mnt/a"});
  REQUIRE(directory != observed.artifacts.end());
  CHECK(std::holds_alternative<Present>(directory->second));
}

TEST_CASE("a bind's source is read from the kernel's table, because its server may be unreachable", "[storage]") {
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

TEST_CASE("no FUSE mounts of a user, at paths of any length, hide the other mounts of a node", "[storage]") {
  constexpr std::size_t kKiB = 1024;
  const auto of_user = [](std::size_t length) {
    return "50 1 0:60 / /home/alice/" + std::string(length, 'x') +
           " rw,nosuid,nodev - fuse.sshfs server:/ rw,user_id=1000,group_id=1000\n";
  };
  FakeNode node;
  std::string table = of_user(20 * kKiB * kKiB) + of_user(4);
  for (int i = 0; i < 300; ++i) table += of_user(60 * kKiB);
  node.put_file("/proc/self/mountinfo", table + "36 1 259:1 / /mnt/a rw - ext4 /dev/sdb rw\n");
  const auto mounts = mounted_file_systems(node);
  REQUIRE(mounts);
  CHECK(mounts->size() < 300);
  CHECK(mounted_at(*mounts, "/mnt/a") != nullptr);
  CHECK(mounted_at(*mounts, "/home/alice/xxxx") != nullptr);
}

TEST_CASE("no mounts that an NFS server makes appear hide the mounts of other servers", "[storage]") {
  constexpr std::size_t kKiB = 1024;
  const auto nfs = [](const std::string& source, const std::string& target) {
    return "50 40 0:60 / " + target + " rw - nfs4 " + source + " rw\n";
  };
  const auto submount = [&](const std::string& top, std::size_t length) {
    return nfs("10.0.0.66:/x", top + "/" + std::string(length, 'x'));
  };
  FakeNode node;
  std::string table;
  // The root of a node without a disk is no server's way to the other mounts.
  SECTION("on a node with a disk") { table = "22 1 254:0 / / rw - ext4 /dev/root rw\n"; }
  SECTION("on a node that has its root from a server") { table = nfs("10.0.0.5:/root", "/"); }
  table += nfs("10.0.0.66:/a", "/mnt/a") + nfs("10.0.0.66:/b", "/mnt/b") + submount("/mnt/a", 4);
  for (int i = 0; i < 300; ++i) table += submount("/mnt/a", 60 * kKiB) + submount("/mnt/b", 60 * kKiB);
  table += nfs("10.0.0.9:/s", "/mnt/s") + nfs("10.0.0.9:/s/sub", "/mnt/s/sub");
  table += nfs("10.0.0.9:/s", "/mnt/ab") + "36 50 259:1 / /mnt/a/disk rw - ext4 /dev/sdb rw\n";
  node.put_file("/proc/self/mountinfo", table);
  const auto mounts = mounted_file_systems(node);
  REQUIRE(mounts);
  CHECK(mounts->size() < 100);
  for (const char* target :
       {"/", "/mnt/a", "/mnt/a/xxxx", "/mnt/b", "/mnt/s", "/mnt/s/sub", "/mnt/ab", "/mnt/a/disk"}) {
    CAPTURE(target);
    CHECK(mounted_at(*mounts, target) != nullptr);
  }
}

TEST_CASE("a subsystem connected to another address by hand is taken over", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/fake/servers/vol", "nvme1n1");
  connect_subsystem(node, "vol", "10.0.0.1", 4420);
  // Stopping an inactive unit has no effect.
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "vol", 1};
  const Observation wanted =
      Present{Value::map({{"unit", nvme_tcp::render_unit(one)}, {"enabled", true}, {"state", "connected"}}), {}};
  node.put_file("/fake/inactive", "sparkplan-nvme-vol.service\n");
  const auto made = nvme_tcp::make_connection("vol", wanted, node);
  INFO((made ? "" : made.error().message));
  REQUIRE(made);
  CHECK(node.text_of("/sys/class/nvme/nvme0/address") == "traddr=10.0.0.9,trsvcid=4420");
}

TEST_CASE("a subsystem with one path at another server is connected elsewhere, whichever path comes first",
          "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "vol", 1};
  node.put_file("/etc/systemd/system/sparkplan-nvme-vol.service", nvme_tcp::render_unit(one));
  const auto state = [&](const std::vector<std::string>& addresses) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::string controller = "/sys/class/nvme/nvme" + std::to_string(i);
      node.put_file(controller + "/subsysnqn", "vol\n");
      node.put_file(controller + "/transport", "tcp\n");
      node.put_file(controller + "/address", "traddr=" + addresses[i] + ",trsvcid=4420\n");
      node.put_file(controller + "/state", "live\n");
    }
    return nvme_tcp::look_at_connection("vol", node)->state;
  };
  CHECK(state({"10.0.0.9", "10.0.0.9"}) == nvme_tcp::state::kConnected);
  CHECK(state({"10.0.0.9", "10.0.0.1"}) == "connected to 10.0.0.1 port 4420");
  CHECK(state({"10.0.0.1", "10.0.0.9"}) == "connected to 10.0.0.1 port 4420");
  SECTION("a server by the name that /etc/hosts has") {
    one.server.address = "storage-01";
    node.put_file("/etc/systemd/system/sparkplan-nvme-vol.service", nvme_tcp::render_unit(one));
    CHECK(state({"10.0.0.9", "10.0.0.1"}) == nvme_tcp::state::kConnected);
    node.put_file("/etc/hosts", "127.0.0.1 localhost\n10.0.0.7 storage-010 # storage-01\n10.0.0.9 other storage-01\n");
    CHECK(state({"10.0.0.9", "10.0.0.9"}) == nvme_tcp::state::kConnected);
    CHECK(state({"10.0.0.9", "10.0.0.7"}) == "connected to 10.0.0.7 port 4420");
  }
}

TEST_CASE("a node's NVMe identity is created once, and both parts of it match", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const Observation there = Present{Value::map({{"there", true}}), {}};
  REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostNqnFile, there, node));
  const auto nqn = node.text_of(nvme_tcp::kHostNqnFile);
  CHECK(nqn == "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555\n");
  node.add_kernel_file("/proc/sys/kernel/random/uuid", {"99999999-2222-4333-8444-555555555555", {}, {}, {}});
  REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostIdFile, there, node));
  CHECK(node.text_of(nvme_tcp::kHostIdFile) == "11111111-2222-4333-8444-555555555555\n");
  REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostNqnFile, there, node));
  CHECK(node.text_of(nvme_tcp::kHostNqnFile) == nqn);
}

TEST_CASE("what is not a UUID becomes no part of a node's NVMe identity", "[storage]") {
  FakeNode node;
  install_fake_storage(node);
  const Observation there = Present{Value::map({{"there", true}}), {}};
  SECTION("a hostnqn with another name gets a hostid of its own") {
    node.put_file(nvme_tcp::kHostNqnFile, "nqn.2014-08.org.nvmexpress:uuid:spark-01\n");
    REQUIRE(nvme_tcp::make_identity(nvme_tcp::kHostIdFile, there, node));
    CHECK(node.text_of(nvme_tcp::kHostIdFile) == "11111111-2222-4333-8444-555555555555\n");
  }
  SECTION("beside a hostid that the kernel refuses, no hostnqn is written") {
    node.put_file(nvme_tcp::kHostIdFile, "spark-01\n");
    const auto made = nvme_tcp::make_identity(nvme_tcp::kHostNqnFile, there, node);
    REQUIRE_FALSE(made);
    CHECK(made.error().message.starts_with("/etc/nvme/hostid is not a UUID"));
    CHECK_FALSE(node.text_of(nvme_tcp::kHostNqnFile));
  }
}

}  // namespace sparkplan::test
