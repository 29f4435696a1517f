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

Result<std::optional<std::string>> number_of_mapped(const std::string& name, const NodeReader& node) {
  SPARK_TRY(const auto devices, or_empty(node.list_directory(kBlockDevices)));
  for (const std::string& device : devices) {
    if (!device.starts_with("dm-")) continue;
    SPARK_TRY(const auto called, line_of(std::string(kBlockDevices) + "/" + device + "/dm/name", node));
    if (called == name) return number_of(device, node);
  }
  return std::optional<std::string>();
}

/// The link that our rule makes; empty for a device that is not an NVMe namespace.
Result<std::string> nvme_link(const std::string& device, const NodeReader& node) {
  SPARK_TRY(const std::string subsystem, subsystem_behind(device, node));
  if (subsystem.empty()) return std::string();
  const std::string name = device.substr(device.rfind('/') + 1);
  SPARK_TRY(const auto number, line_of(std::string(kBlockDevices) + "/" + name + "/nsid", node));
  return number ? std::string(kNvmeLinkPrefix) + subsystem + "-" + *number : std::string();
}

/// A file system stays mounted after its device was pulled out, or its server was given up. Its writes go nowhere.
Result<bool> is_lost(const std::string& number, const NodeReader& node) {
  const std::string all = "/sys/dev/block";
  SPARK_TRY(const bool there, node.is_there(all + "/" + number));
  return there ? Result<bool>(false) : node.is_there(all);
}

/// The links of the device with this number: empty if the device is lost, nothing if udev has no record of it.
Result<std::optional<std::set<std::string>>> links_of(const std::string& number, const std::string& device,
                                                      const NodeReader& node) {
  std::set<std::string> links;
  SPARK_TRY(const auto record, line_of("/run/udev/data/b" + number, node));
  if (!record) {
    SPARK_TRY(const bool lost, is_lost(number, node));
    return lost ? std::optional(links) : std::nullopt;
  }
  for (const std::string_view line : split_lines(*record)) {
    if (line.starts_with("S:")) links.insert(std::string(kDev) + std::string(line.substr(2)));
  }
  SPARK_TRY(std::string link, nvme_link(device, node));
  if (!link.empty()) links.insert(std::move(link));
  return std::optional(std::move(links));
}

/// "253:0" for the device behind "/dev/sda1", "/dev/mapper/mpatha" or "/dev/VG/LV". Nothing if the kernel has no device
/// of that name, and for all other links.
/// Source: the kernel's Documentation/ABI/testing/sysfs-block-dm; lvm(8), "dmsetup info" on names with hyphens.
Result<std::optional<std::string>> device_number(const std::string& path, const NodeReader& node) {
  if (!path.starts_with(kDev)) return std::optional<std::string>();
  const std::string name = path.substr(kDev.size());
  // "cciss/c0d0": a file name has no slash. Source: dev_set_name() in the kernel's drivers/base/core.c.
  std::string kernel_name = name;
  std::ranges::replace(kernel_name, '/', '!');
  SPARK_TRY(auto number, number_of(kernel_name, node));
  const std::string mapped = number ? std::string() : mapper_name(name);
  if (mapped.empty()) return number;
  return number_of_mapped(mapped, node);
}

/// btrfs mounts show a number ("0:...") that is not their device's.
Result<std::optional<std::string>> number_behind(const MountedFileSystem& mounted, const NodeReader& node) {
  if (mounted.device.starts_with("0:")) return device_number(mounted.source, node);
  return std::optional(mounted.device);
}

Error nobody_can_tell(const std::string& who, const std::string& device) {
  return make_error(ErrorCode::kFailed,
                    printable(who) + ", but the names of its device " + printable(device) + " cannot be determined",
                    "check that udev runs there; until the names are known, no other node starts to write to volumes");
}

}  // namespace

Result<std::optional<std::string>> udev_record(const MountedFileSystem& mounted, const NodeReader& node) {
  SPARK_TRY(const auto number, number_behind(mounted, node));
  if (!number) return std::optional<std::string>();
  return line_of("/run/udev/data/b" + *number, node);
}

Result<std::set<std::string>> links_to_mounted(const MountedFileSystem& mounted, const NodeReader& node) {
  SPARK_TRY(const auto number, number_behind(mounted, node));
  std::optional<std::set<std::string>> links;
  if (number) {
    SPARK_TRY(links, links_of(*number, mounted.source, node));
  }
  if (links) return *std::move(links);
  return failure(nobody_can_tell(mounted.target + " is mounted writable", mounted.source));
}

Result<std::set<std::string>> links_to_device(const std::string& path, const NodeReader& node) {
  SPARK_TRY(const auto number, device_number(path, node));
  if (!number) return std::set<std::string>();
  SPARK_TRY(auto links, links_of(*number, path, node));
  if (links) return *std::move(links);
  return failure(nobody_can_tell(path + " may be written to", path));
}

}  // namespace sparkplan::mount
