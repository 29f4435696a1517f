// The section `storage`: the resources of its two types, and checks by system programs.
#include "engine/domain/storage/storage.h"

#include <filesystem>
#include <fstream>

#include "engine/core/text.h"
#include "engine/domain/storage/fstab.h"
#include "engine/node/mount_table.h"
#include "engine/process/child_process.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/mount_unit.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/resources/storage/storage_entries.h"

namespace sparkplan::test {
namespace {

/// The findings for this `storage` for all nodes and these `nodes`, as "LINE CODE message".
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

bool is_program(const std::string& name) {
  return run_and_capture(std::vector<std::string>{name, "--version"}, {}).has_value();
}

/// Both streams.
std::string output_of(const std::vector<std::string>& argv) {
  const auto output = run_and_capture(argv, CaptureLimits{std::chrono::seconds{30}});
  REQUIRE(output);
  return output->standard_output + output->standard_error;
}

/// The text in fstab, which has blanks and backslashes in octal.
std::string in_octal(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == ' ' ? "\\040" : c == '\\' ? "\\134" : std::string(1, c);
  return result;
}

/// The mount as a line of fstab(5), for findmnt.
std::string fstab_line(const StorageMount& mount) {
  const mount::MountUnit unit = mount::parse_unit(mount::render_unit(mount));
  return in_octal(unit.what) + " " + in_octal(mount.target) + " " + unit.type + " " +
         in_octal(join(unit.options, ",")) + " 0 0\n";
}

const std::vector<std::string> kPaths{"/mnt/models", "/mnt/rosa-models", "/mnt/my models/größe", "/srv/.hidden",
                                      "/.hidden",    "/mnt/a%b",         "/mnt/back\\slash",     "/mnt/a_b.c:d"};

}  // namespace

TEST_CASE("a unit's name for a path matches systemd-escape", "[storage]") {
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

TEST_CASE("a mount unit is parsed back unchanged, with any path", "[storage]") {
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

TEST_CASE("systemd-analyze and findmnt accept the mount units", "[storage]") {
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
    fstab << fstab_line(one);
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

TEST_CASE("a read-only volume is mounted without its journal, and no mount delays a boot", "[storage]") {
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

TEST_CASE("no option hides a read-only mount from mount(8)", "[storage]") {
  // libmount reads all text between two quotes as one option, including the comma and the "ro" after it.
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

TEST_CASE("a file system for one machine has at most one writing node", "[storage]") {
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

TEST_CASE("an entry that a mount unit cannot express is refused at its position", "[storage]") {
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

TEST_CASE("mountinfo and fstab are parsed with their octal escapes", "[storage]") {
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

TEST_CASE("a connection's unit is valid for systemd, and names its server", "[storage]") {
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

TEST_CASE("the largest namespace number is kept", "[storage]") {
  const auto mounts = mounts_of(
      "  - {target: /mnt/a, type: ext4, source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol, namespace: "
      "4294967294}}}\n");
  CHECK(mounts.front().what == "/dev/disk/by-id/sparkplan-nvme-vol-4294967294");
}

TEST_CASE("a tmpfs size is rounded up to whole pages, as the kernel shows it", "[storage]") {
  const auto mounts = mounts_of("  - {target: /mnt/a, source: {tmpfs: {size: 1.5GB}}}\n");
  CHECK(mounts.front().options.front() == "size=1500053504");
}

TEST_CASE("a connection that starts late also starts the binds of its volumes", "[storage]") {
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

}  // namespace sparkplan::test
