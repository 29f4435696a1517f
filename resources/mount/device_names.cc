#include "resources/mount/device_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/text.h"
#include "engine/domain/storage/block_device.h"
#include "engine/domain/storage/storage.h"

namespace sparkplan::mount {
namespace {

constexpr const char* kBlockDevices = "/sys/class/block";
constexpr std::string_view kDev = "/dev/";
constexpr std::size_t kMostServersNamed = 4;
/// A server can offer a thousand volumes with hundreds of partitions each.
constexpr std::size_t kMostBlockDevices = 4096;

/// Nothing if the file does not exist.
Result<std::optional<std::string>> line_of(const std::string& path, const NodeReader& node) {
  SPARK_TRY(const auto text, if_there(node.read_file(path)));
  if (!text) return std::optional<std::string>();
  return std::optional(std::string(trim(*text)));
}

Result<std::optional<std::string>> number_of(const std::string& kernel_name, const NodeReader& node) {
  return line_of(std::string(kBlockDevices) + "/" + kernel_name + "/dev", node);
}

/// The device mapper's name of "mapper/NAME" and "VG/LV"; empty for other paths.
std::string mapper_name(std::string_view path) {
  constexpr std::string_view kMapper = "mapper/";
  if (path.starts_with(kMapper)) return std::string(path.substr(kMapper.size()));
  const auto parts = split(path, '/');
  if (parts.size() != 2) return {};
  std::string name;
  for (const std::string_view part : parts) {
    if (!name.empty()) name += '-';
    for (const char c : part) name += c == '-' ? std::string("--") : std::string(1, c);
  }
  return name;
}

Result<std::string> kernel_name_of_mapped(const std::string& name, const NodeReader& node) {
  SPARK_TRY(const auto devices, or_empty(node.list_directory(kBlockDevices)));
  for (const std::string& device : devices) {
    if (!device.starts_with("dm-")) continue;
    SPARK_TRY(const auto called, line_of(std::string(kBlockDevices) + "/" + device + "/dm/name", node));
    if (called == name) return device;
  }
  return std::string();
}

/// The link that our rule makes; empty for a device that is not an NVMe namespace.
Result<std::string> nvme_link(const std::string& name, const NodeReader& node) {
  SPARK_TRY(const std::string subsystem, subsystem_behind(name, node));
  if (subsystem.empty()) return std::string();
  SPARK_TRY(const auto number, line_of(std::string(kBlockDevices) + "/" + name + "/nsid", node));
  return number ? std::string(kNvmeLinkPrefix) + subsystem + "-" + *number : std::string();
}

/// A file system stays mounted after its device was pulled out, or its server was given up. Its writes go nowhere.
Result<bool> is_lost(const std::string& number, const NodeReader& node) {
  const std::string all = "/sys/dev/block";
  SPARK_TRY(const bool there, node.is_there(all + "/" + number));
  return there ? Result<bool>(false) : node.is_there(all);
}

/// A device of the kernel: "dm-0" and "253:0".
struct Device {
  std::string name = {};
  std::optional<std::string> number = {};  ///< Nothing if the kernel has no such device.
};

/// No names if the device is lost, nothing if udev has no record of it. The device has a number.
Result<std::optional<DeviceNames>> names_of(const Device& device, const NodeReader& node) {
  DeviceNames names;
  SPARK_TRY(const auto record, line_of("/run/udev/data/b" + *device.number, node));
  if (!record) {
    SPARK_TRY(const bool lost, is_lost(*device.number, node));
    return lost ? std::optional(names) : std::nullopt;
  }
  for (const std::string_view line : split_lines(*record)) {
    if (line.starts_with("S:")) names.links.insert(std::string(kDev) + std::string(line.substr(2)));
  }
  SPARK_TRY(std::string link, nvme_link(device.name, node));
  if (!link.empty()) names.links.insert(std::move(link));
  SPARK_TRY(names.servers, servers_behind(device.name, node));
  return std::optional(std::move(names));
}

/// The device behind "/dev/sda1", "/dev/mapper/mpatha" or "/dev/VG/LV". Without a number for all other links.
/// Source: the kernel's Documentation/ABI/testing/sysfs-block-dm; lvm(8), "dmsetup info" on names with hyphens.
Result<Device> device_called(const std::string& path, const NodeReader& node) {
  if (!path.starts_with(kDev)) return Device();
  Device device{path.substr(kDev.size()), {}};
  const std::string mapped = mapper_name(device.name);
  // "cciss/c0d0": a file name has no slash. Source: dev_set_name() in the kernel's drivers/base/core.c.
  std::ranges::replace(device.name, '/', '!');
  SPARK_TRY(device.number, number_of(device.name, node));
  if (device.number || mapped.empty()) return device;
  SPARK_TRY(std::string name, kernel_name_of_mapped(mapped, node));
  if (name.empty()) return device;
  device.name = std::move(name);
  SPARK_TRY(device.number, number_of(device.name, node));
  return device;
}

/// btrfs mounts show a number ("0:...") that is not their device's.
bool has_number_of_device(const MountedFileSystem& mounted) { return !mounted.device.starts_with("0:"); }

Error nobody_can_tell(const std::string& who, const std::string& device) {
  return make_error(ErrorCode::kFailed,
                    printable(who) + ", but the names of its device " + printable(device) + " cannot be determined",
                    "check that udev runs there; until the names are known, no other node starts to write to volumes");
}

/// The number alone, if the mount table has it.
Result<Device> device_of(const MountedFileSystem& mounted, const NodeReader& node) {
  return has_number_of_device(mounted) ? Result<Device>(Device{{}, mounted.device})
                                       : device_called(mounted.source, node);
}

/// True if no server is behind the mounted device. False also for a device that is not found under its name.
Result<bool> is_local(const MountedFileSystem& mounted, const NodeReader& node) {
  SPARK_TRY(const Device device, device_called(mounted.source, node));
  if (!device.number || (has_number_of_device(mounted) && device.number != mounted.device)) return false;
  SPARK_TRY(const auto servers, servers_behind(device.name, node));
  return servers.empty();
}

/// A device with a link, and the servers behind it.
struct Claimant {
  Device device;
  std::set<std::string> servers;

  std::string path() const {
    std::string name = device.name;
    std::ranges::replace(name, '!', '/');
    return std::string(kDev) + name;
  }
  std::string origin() const { return "a volume of the NVMe server " + in_words(servers); }
};

/// udev's record of a device has all its links, also one that leads to another device with the same link.
/// Source: device_update_db() in systemd's src/libsystemd/sd-device/device-private.c, link_update() in udev-node.c.
Result<std::vector<Claimant>> claimants_of(const std::string& link, const std::vector<std::string>& devices,
                                           const NodeReader& node) {
  const std::string line = "S:" + link.substr(kDev.size());
  std::vector<Claimant> claimants;
  for (const std::string& name : devices) {
    SPARK_TRY(const auto number, number_of(name, node));
    if (!number) continue;
    SPARK_TRY(const auto record, line_of("/run/udev/data/b" + *number, node));
    if (!record) continue;
    const auto lines = split_lines(*record);
    if (std::ranges::find(lines, line) == lines.end()) continue;
    SPARK_TRY(auto servers, servers_behind(name, node));
    claimants.push_back({{name, number}, std::move(servers)});
  }
  return claimants;
}

}  // namespace

Result<std::optional<std::string>> udev_record(const MountedFileSystem& mounted, const NodeReader& node) {
  SPARK_TRY(const Device device, device_of(mounted, node));
  if (!device.number) return std::optional<std::string>();
  return line_of("/run/udev/data/b" + *device.number, node);
}

Result<DeviceNames> names_of_mounted(const MountedFileSystem& mounted, const NodeReader& node) {
  SPARK_TRY(Device device, device_called(mounted.source, node));
  if (has_number_of_device(mounted)) device.number = mounted.device;
  std::optional<DeviceNames> names;
  if (device.number) {
    SPARK_TRY(names, names_of(device, node));
  }
  if (names) return *std::move(names);
  return failure(nobody_can_tell(mounted.target + " is mounted writable", mounted.source));
}

Result<DeviceNames> names_of_device(const std::string& path, const NodeReader& node) {
  SPARK_TRY(const Device device, device_called(path, node));
  if (!device.number) return DeviceNames();
  SPARK_TRY(auto names, names_of(device, node));
  if (names) return *std::move(names);
  return failure(nobody_can_tell(path + " may be written to", path));
}

std::string in_words(const std::set<std::string>& servers) {
  std::vector<std::string> named(servers.begin(), servers.end());
  const std::size_t others = named.size() > kMostServersNamed ? named.size() - kMostServersNamed : 0;
  named.resize(named.size() - others);
  return printable(join(named, ", ")) + (others > 0 ? " and " + std::to_string(others) + " more" : "");
}

Result<std::optional<ContestedLink>> contest_for(const std::string& link, const MountedFileSystem* mounted,
                                                 const NodeReader& node) {
  if (!link.starts_with("/dev/disk/")) return std::optional<ContestedLink>();
  // Most nodes have no such server, and need no look at their devices.
  SPARK_TRY(const auto servers, nvme_servers(node));
  if (servers.empty()) return std::optional<ContestedLink>();
  std::optional<std::string> only;
  if (mounted != nullptr) {
    SPARK_TRY(const bool local, is_local(*mounted, node));
    if (local) return std::optional<ContestedLink>();
    SPARK_TRY(const Device device, device_of(*mounted, node));
    only = device.number.value_or("");
  }
  SPARK_TRY(const auto devices, or_empty(node.list_directory(kBlockDevices)));
  if (devices.size() > kMostBlockDevices) {
    return failure(ErrorCode::kUnsupported, "there are more than " + std::to_string(kMostBlockDevices) +
                                                " block devices, with those of the NVMe server " + in_words(servers) +
                                                ", so sparkplan cannot determine which of them have the name " +
                                                printable(link));
  }
  SPARK_TRY(const auto claimants, claimants_of(link, devices, node));
  const auto served = std::ranges::find_if(
      claimants, [&](const Claimant& one) { return !one.servers.empty() && (!only || one.device.number == only); });
  if (served == claimants.end()) return std::optional<ContestedLink>();
  const auto other =
      std::ranges::find_if(claimants, [&](const Claimant& one) { return one.servers != served->servers; });
  if (other == claimants.end()) return std::optional<ContestedLink>();
  const std::string origin = other->servers.empty() ? "" : ", " + other->origin();
  return std::optional(ContestedLink{served->path(), served->origin(), other->path() + origin});
}

}  // namespace sparkplan::mount
