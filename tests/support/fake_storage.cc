#include "tests/support/fake_storage.h"

#include <algorithm>
#include <vector>

#include "engine/core/text.h"
#include "engine/node/mount_table.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan::test {
namespace {

using Call = FakeNode::Call;

constexpr const char* kMountinfo = "/proc/self/mountinfo";

CommandOutput mount_failed(std::string text) { return {1, {}, std::move(text)}; }

std::string text_at(const FakeNode& node, const std::string& path) { return node.text_of(path).value_or(""); }

std::string in_octal(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == ' ' ? std::string("\\040") : std::string(1, c);
  return result;
}

/// "/dev/nvme0n1" for any link to that device in udev's records.
std::string device_behind(const FakeNode& node, const std::string& what) {
  for (const auto& [path, entry] : node.snapshot()) {
    constexpr std::string_view kRecords = "/run/udev/data/b259:";
    if (!path.starts_with(kRecords)) continue;
    const std::string text = text_at(node, path);
    const auto lines = split_lines(text);
    if (std::find(lines.begin(), lines.end(), "S:" + what.substr(5)) != lines.end()) {
      return "/dev/" + path.substr(kRecords.size());
    }
  }
  return what;
}

void take_line(FakeNode& node, const std::string& target) {
  std::string kept;
  const std::string all = text_at(node, kMountinfo);
  const auto lines = split_lines(all);
  const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                 [&](std::string_view line) { return parse_mountinfo(line).front().target == target; });
  for (const std::string_view& line : lines) {
    if (last == lines.rend() || &line != &*last) kept += std::string(line) + "\n";
  }
  node.put_file(kMountinfo, kept);
}

void remove_mount(FakeNode& node, const std::string& target) {
  const auto mounts = parse_mountinfo(text_at(node, kMountinfo));
  const MountedFileSystem* there = mounted_at(mounts, target);
  const bool in_memory = there != nullptr && there->type == "tmpfs";
  take_line(node, target);
  // Unmounting removes the directories below the target; a tmpfs loses all its files.
  for (const auto& [path, entry] : node.snapshot()) {
    if (path.starts_with(target + "/") && (entry == "directory" || in_memory)) node.erase(path);
  }
}

/// The kernel's options of a mount; they always contain "rw" or "ro".
std::string shown_options(const std::string& options) {
  std::string shown = "rw";
  for (const std::string_view option : split(options, ',')) {
    if (option == "ro") shown = "ro";
  }
  for (const std::string_view option : split(options, ',')) {
    if (option.starts_with("no") && option != "nofail" && option != "noload" && option != "norecovery")
      shown += "," + std::string(option);
  }
  return shown;
}

CommandOutput start_mount(FakeNode& node, const std::string& name, const std::string& text) {
  const std::string what = with_specifiers(unit_setting(text, "Mount", "What").value_or(""));
  const std::string target = with_specifiers(unit_setting(text, "Mount", "Where").value_or(""));
  if (mounted_at(parse_mountinfo(text_at(node, kMountinfo)), target) != nullptr) return {};
  const std::string type = unit_setting(text, "Mount", "Type").value_or("");
  if (type == "nfs4" && !node.text_of("/fake/nfs")) return mount_failed("Job for " + name + " failed.\n");
  const std::string source = what.starts_with("/dev/") ? device_behind(node, what) : what;
  add_mount(node, source, target, type == "none" ? "ext4" : type, unit_setting(text, "Mount", "Options").value_or(""));
  return {};
}

CommandOutput stop_mount(FakeNode& node, const std::string& name, const std::string& target) {
  const std::string busy = text_at(node, "/fake/busy");
  const auto lines = split_lines(busy);
  if (std::find(lines.begin(), lines.end(), target) != lines.end())
    return mount_failed("Job for " + name + " failed.\n");
  remove_mount(node, target);
  return {};
}

/// The bytes that a tmpfs holds.
std::size_t bytes_below(const FakeNode& node, const std::string& target) {
  std::size_t bytes = 0;
  for (const auto& [path, entry] : node.snapshot()) {
    if (path.starts_with(target + "/")) bytes += node.text_of(path).value_or("").size();
  }
  return bytes;
}

std::size_t size_in(const std::string& options) {
  for (const std::string_view option : split(options, ',')) {
    if (option.starts_with("size=")) return std::stoull(std::string(option.substr(5)));
  }
  return 0;
}

/// A remount: the kernel keeps the options that are not given again, and never replays a journal.
CommandOutput reload_mount(FakeNode& node, const std::string& name, const std::string& text) {
  const std::string target = with_specifiers(unit_setting(text, "Mount", "Where").value_or(""));
  const auto mounts = parse_mountinfo(text_at(node, kMountinfo));
  const MountedFileSystem* there = mounted_at(mounts, target);
  if (there == nullptr) return mount_failed("Job for " + name + " failed.\n");
  std::string options = unit_setting(text, "Mount", "Options").value_or("");
  if (there->has_option("norecovery")) options += ",norecovery";
  if (there->type == "tmpfs" && bytes_below(node, target) > size_in(options))
    return mount_failed("Too small a size.\n");
  take_line(node, target);
  add_mount(node, there->source, target, there->type, options);
  return {};
}

CommandOutput start_connection(FakeNode& node, const std::string& name, const std::string& text) {
  const auto words = words_of(unit_setting(text, "Service", "ExecStart").value_or(""));
  if (words.size() < 3) return mount_failed("Job for " + name + " failed.\n");
  const std::string subsystem = words[words.size() - 3];
  if (node.text_of("/sys/class/nvme/nvme0/subsysnqn") == subsystem) return {};
  if (!node.text_of("/fake/servers/" + subsystem)) return mount_failed("Job for " + name + " failed.\n");
  connect_subsystem(node, subsystem, words[words.size() - 2], std::stoi(words.back()));
  return {};
}

void disconnect(FakeNode& node, const std::string& subsystem) {
  if (node.text_of("/sys/class/nvme/nvme0/subsysnqn") != subsystem) return;
  const std::string device = text_at(node, "/fake/servers/" + subsystem);
  for (const auto& [path, entry] : node.snapshot()) {
    const bool gone = path.starts_with("/sys/class/nvme/nvme0/") || path.starts_with("/sys/class/block/" + device) ||
                      path == "/run/udev/data/b259:" + device || path.starts_with("/dev/disk/by-id/sparkplan-nvme-") ||
                      path == "/dev/" + device;
    if (gone) node.erase(path);
  }
}

/// The target of a mount unit, whether or not the unit has a file.
std::string target_of(const FakeNode& node, const std::string& name) {
  for (const MountedFileSystem& mount : parse_mountinfo(text_at(node, kMountinfo))) {
    if (escaped_unit_path(mount.target) + ".mount" == name) return mount.target;
  }
  return {};
}

CommandOutput link_unit(FakeNode& node, const std::string& name, const std::string& text, bool enabled) {
  const auto target = unit_setting(text, "Install", "WantedBy");
  for (const char* other : {"local-fs.target", "remote-fs.target"}) {
    const std::string path = system_unit_path(std::string(other) + ".wants/" + name);
    if (!enabled) node.erase(path);
    if (enabled && target == other) node.add_symlink(path, system_unit_path(name));
  }
  return {};
}

/// Active units that require `name`.
std::vector<std::string> units_needing(const FakeNode& node, const std::string& name) {
  std::vector<std::string> units;
  const std::string all = text_at(node, "/fake/required-by");
  for (const std::string_view line : split_lines(all)) {
    const auto words = words_of(line);
    if (words.size() == 2 && words[0] == name) units.push_back(words[1]);
  }
  return units;
}

/// Stopping a unit also stops the units that require it.
void stop_units_needing(FakeNode& node, const std::string& name) {
  std::string inactive = text_at(node, "/fake/inactive");
  for (const std::string& unit : units_needing(node, name)) inactive += unit + "\n";
  if (!inactive.empty()) node.put_file("/fake/inactive", inactive);
}

Result<UnitProperties> mount_unit_properties(const FakeNode& node, const std::string& name) {
  const bool inactive = text_at(node, "/fake/inactive").find(name) != std::string::npos;
  return UnitProperties{{"ActiveState", inactive ? "inactive" : "active"},
                        {"RequiredBy", join(units_needing(node, name), " ")},
                        {"BoundBy", ""}};
}

Result<CommandOutput> systemctl_program(const Call& call) {
  const std::string& verb = call.argv.at(1);
  if (call.writable == nullptr) return failure(ErrorCode::kBug, "systemctl " + verb + " is no question");
  if (verb == "daemon-reload" || verb == "reset-failed") return CommandOutput{};
  FakeNode& node = *call.writable;
  const std::string& name = call.argv.back();
  const std::string text = text_at(node, system_unit_path(name));
  if (verb == "enable" || verb == "disable") return link_unit(node, name, text, verb == "enable");
  if (name.ends_with(".mount")) {
    const std::string target = target_of(node, name);
    if (verb == "stop" || verb == "restart") stop_units_needing(node, name);
    if (verb == "stop") return target.empty() ? CommandOutput{} : stop_mount(node, name, target);
    if (verb == "start") return start_mount(node, name, text);
    if (verb == "reload") return reload_mount(node, name, text);
    if (verb == "restart") {
      const CommandOutput stopped = target.empty() ? CommandOutput{} : stop_mount(node, name, target);
      return stopped.exit_status == 0 ? start_mount(node, name, text) : stopped;
    }
  }
  if (verb == "start") return start_connection(node, name, text);
  const bool inactive = node.text_of("/fake/inactive").value_or("").find(name) != std::string::npos;
  const bool disconnects = unit_setting(text, "Service", "ExecStop").has_value();
  if (verb == "stop" && !inactive && disconnects) disconnect(node, name.substr(15, name.size() - 15 - 8));
  return CommandOutput{};
}

Result<CommandOutput> blkid(const Call& call) {
  const std::string device = device_behind(call.node, call.argv.back());
  const auto found = call.node.text_of("/fake/devices/" + device.substr(device.rfind('/') + 1));
  if (!found || found->empty()) return CommandOutput{2, {}, {}};
  return CommandOutput{0, *found + "\n", {}};
}

/// mount -o remount,OPTION -- TARGET
Result<CommandOutput> remount(const Call& call) {
  const std::string option = call.argv.at(2).substr(std::string("remount,").size());
  const std::string& target = call.argv.back();
  const auto mounts = parse_mountinfo(text_at(call.node, kMountinfo));
  const MountedFileSystem* there = mounted_at(mounts, target);
  if (there == nullptr) return mount_failed("mount point not mounted");
  std::vector<std::string> options;
  for (const std::string& one : there->options) {
    if (one != "ro" && one != "rw" && "no" + option != one && !(option == "relatime" && one == "noatime")) {
      options.push_back(one);
    }
  }
  if (there->has_option("norecovery")) options.emplace_back("norecovery");
  const std::string mode = option == "ro" || option == "rw" ? option : there->options.front();
  options.insert(options.begin(), mode);
  take_line(*call.writable, target);
  add_mount(*call.writable, there->source, target, there->type, join(options, ","));
  return CommandOutput{};
}

/// An exclusive open of a block device fails while the device or a partition of it is mounted, on this node or in a
/// container.
Result<CommandOutput> open_alone(const Call& call) {
  const std::string& device = call.argv.back();
  const std::string elsewhere = text_at(call.node, "/fake/held");
  const auto held = split_lines(elsewhere);
  bool busy = std::find(held.begin(), held.end(), device) != held.end();
  for (const MountedFileSystem& mount : parse_mountinfo(text_at(call.node, kMountinfo))) {
    if (mount.made_by_a_user()) continue;
    busy = busy || mount.source == device || mount.source.starts_with(device + "p");
  }
  return CommandOutput{busy ? 16 : 0, {}, {}};
}

}  // namespace

void install_fake_storage(FakeNode& node) {
  node.set_unit_reader(mount_unit_properties);
  node.add_program("systemctl", systemctl_program);
  node.add_program("blkid", blkid);
  node.add_program("mount", remount);
  for (const char* silent : {"find", "journalctl", "udevadm"}) {
    node.add_program(silent, [](const Call&) -> Result<CommandOutput> { return CommandOutput{}; });
  }
  node.add_program("perl", open_alone);
  node.add_program("readlink", [](const Call& call) -> Result<CommandOutput> {
    return CommandOutput{0, device_behind(call.node, call.argv.back()) + "\n", {}};
  });
  node.add_program("nvme", [](const Call& call) -> Result<CommandOutput> {
    disconnect(*call.writable, call.argv.back().substr(std::string("--nqn=").size()));
    return CommandOutput{};
  });
  node.put_file("/usr/sbin/nvme", "");
  node.put_file(kMountinfo, "");
  node.add_directory("/sys/dev/block");
  node.add_kernel_file("/proc/sys/kernel/random/uuid", {"11111111-2222-4333-8444-555555555555", {}, {}, {}});
}

void add_mount(FakeNode& node, const std::string& source, const std::string& target, const std::string& type,
               const std::string& options) {
  // A mount needs its directory.
  for (std::size_t slash = target.find('/', 1);; slash = target.find('/', slash + 1)) {
    const std::string directory = target.substr(0, slash);
    if (!node.list_directory(directory)) node.add_directory(directory);
    if (slash == std::string::npos) break;
  }
  std::string device = source.starts_with("/dev/") ? "259:" + source.substr(5) : "0:40";
  // Each tmpfs is a separate file system with its own device number.
  const std::string table = text_at(node, kMountinfo);
  for (int number = 100;
       type == "tmpfs" && (device == "0:40" || table.find(" " + device + " ") != std::string::npos);) {
    device = "0:" + std::to_string(number++);
  }
  std::string super_options = shown_options(options).substr(0, 2);
  for (const std::string_view option : split(options, ',')) {
    if (option == "noload" || option == "norecovery") super_options += ",norecovery";
    if (option.starts_with("size=")) super_options += "," + std::string(option);
  }
  node.put_file(kMountinfo, text_at(node, kMountinfo) + "36 25 " + device + " / " + in_octal(target) + " " +
                                shown_options(options) + " shared:1 - " + type + " " + in_octal(source) + " " +
                                super_options + "\n");
}

void connect_subsystem(FakeNode& node, const std::string& subsystem, const std::string& address, int port,
                       const std::string& state) {
  const std::string device = text_at(node, "/fake/servers/" + subsystem);
  const std::string link = "disk/by-id/sparkplan-nvme-" + subsystem + "-1";
  node.put_file("/sys/class/nvme/nvme0/subsysnqn", subsystem);
  node.put_file("/sys/class/nvme/nvme0/transport", "tcp");
  node.put_file("/sys/class/nvme/nvme0/address", "traddr=" + address + ",trsvcid=" + std::to_string(port));
  node.put_file("/sys/class/nvme/nvme0/state", state);
  node.put_file("/sys/class/block/" + device + "/device/subsysnqn", subsystem);
  node.put_file("/sys/class/block/" + device + "/dev", "259:" + device + "\n");
  node.put_file("/sys/class/block/" + device + "/nsid", "1\n");
  node.put_file("/run/udev/data/b259:" + device, "S:" + link + "\n");
  node.add_special("/dev/" + device);
  node.add_symlink("/dev/" + link, "../../" + device);
}

}  // namespace sparkplan::test
