#include "engine/domain/storage/storage.h"

#include <algorithm>
#include <array>

#include "engine/core/tree.h"
#include "engine/core/units.h"
#include "engine/model/address.h"

namespace sparkplan {
namespace {

bool has_option(const std::vector<std::string>& options, std::string_view option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

/// A path over a network is the same from every node; a path on one of the node's local buses is not.
/// Source: 60-persistent-storage.rules and udev's builtin path_id.
bool is_path_to_server(const std::string& device) {
  if (!device.starts_with("/dev/disk/by-path/")) return false;
  return device.starts_with("/dev/disk/by-path/ip-") || device.find("-iscsi-") != std::string::npos ||
         device.find("-fc-") != std::string::npos || device.find("-nbd-") != std::string::npos;
}

std::optional<NvmeTcpVolume> nvme_volume(const Value& source) {
  NvmeTcpVolume volume;
  volume.address = source.text_or("address", "");
  volume.port = static_cast<int>(source.integer_or("port", volume.port));
  volume.subsystem = source.text_or("subsystem", "");
  volume.namespace_id = static_cast<std::uint32_t>(source.integer_or("namespace", volume.namespace_id));
  if (volume.address.empty() || volume.subsystem.empty()) return std::nullopt;
  return volume;
}

/// A server's address before a path, IPv6 in brackets. Source: nfs(5).
std::string nfs_source(const Value& source) {
  const std::string server = source.text_or("server", "");
  return bracketed(server) + ":" + source.text_or("path", "");
}

/// Without these options a mount could delay a boot, or write although it is declared read-only.
void add_safe_options(StorageMount& mount) {
  const auto add = [&](const char* option) {
    if (!has_option(mount.options, option)) mount.options.emplace_back(option);
  };
  if (mount.kind == StorageKind::kBind) add("bind");
  // Even a read-only mount replays the journal. That destroys data if another machine writes to the volume.
  const bool of_a_volume = mount.kind == StorageKind::kNvmeTcp || mount.kind == StorageKind::kDevice;
  if (mount.read_only() && of_a_volume) {
    if (mount.type == "ext4" && !has_option(mount.options, "norecovery")) add("noload");
    if (mount.type == "xfs") add("norecovery");
    if (mount.type == "btrfs" && !has_option(mount.options, "nologreplay")) add("rescue=nologreplay");
  }
  add("nofail");
  if (mount.kind == StorageKind::kNvmeTcp || mount.kind == StorageKind::kNfs) add("_netdev");
  if (!mount.read_only()) return;
  // The last of "ro" and "rw" counts, whatever the other options contain.
  std::erase_if(mount.options, [](const std::string& option) { return option == "ro" || option == "rw"; });
  mount.options.emplace_back("ro");
}

/// False for an entry with an incomplete source.
bool read_source(const Value& source, StorageMount& mount) {
  if (const Value* nvme = source.find("nvme_tcp"); nvme != nullptr && nvme->is_map()) {
    mount.kind = StorageKind::kNvmeTcp;
    mount.source_where = nvme->where;
    mount.nvme = nvme_volume(*nvme);
    if (!mount.nvme) return false;
    mount.what = nvme_device_link(*mount.nvme);
    return true;
  }
  if (const Value* nfs = source.find("nfs"); nfs != nullptr && nfs->is_map()) {
    mount.kind = StorageKind::kNfs;
    mount.source_where = nfs->where;
    mount.what = nfs_source(*nfs);
    mount.type = "nfs4";
    return true;
  }
  if (const Value* device = source.find("device"); device != nullptr && device->string() != nullptr) {
    mount.kind = StorageKind::kDevice;
    mount.source_where = device->where;
    mount.what = device_path(*device->string());
    return true;
  }
  if (const Value* bind = source.find("bind"); bind != nullptr && bind->string() != nullptr) {
    mount.kind = StorageKind::kBind;
    mount.source_where = bind->where;
    mount.what = *bind->string();
    mount.type = "none";
    return true;
  }
  const Value* tmpfs = source.find("tmpfs");
  if (tmpfs == nullptr || !tmpfs->is_map()) return false;
  mount.kind = StorageKind::kTmpfs;
  mount.source_where = tmpfs->where;
  mount.what = mount.type = "tmpfs";
  if (const auto size = parse_bytes(tmpfs->text_or("size", ""))) {
    // The kernel rounds up to whole pages, which have at most 64 KiB.
    constexpr std::int64_t kPage = std::int64_t{64} << 10;
    mount.options.push_back("size=" + std::to_string((*size + kPage - 1) / kPage * kPage));
  }
  return true;
}

}  // namespace

bool is_read_only(const std::vector<std::string>& options) {
  bool result = false;
  for (const std::string& option : options) {
    if (option.find_first_of("\"\\") != std::string::npos) return false;
    if (option == "ro") result = true;
    if (option == "rw") result = false;
  }
  return result;
}

bool StorageMount::read_only() const { return is_read_only(options); }

std::vector<StorageMount> storage_mounts(const Value& section) {
  std::vector<StorageMount> mounts;
  for (const Value& record : items_of(section)) {
    const Value* target = record.find("target");
    const Value* source = record.find("source");
    if (target == nullptr || target->string() == nullptr || source == nullptr || !source->is_map()) continue;
    StorageMount mount;
    mount.target = *target->string();
    mount.where = target->where;
    mount.options = texts_in(record.find("options"));
    mount.type = record.text_or("type", "");
    if (!read_source(*source, mount) || mount.type.empty()) continue;
    add_safe_options(mount);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::string nvme_device_link(const NvmeTcpVolume& volume) {
  return std::string(kNvmeLinkPrefix) + volume.subsystem + "-" + std::to_string(volume.namespace_id);
}

bool is_for_one_machine(std::string_view file_system) {
  return file_system == "ext4" || file_system == "xfs" || file_system == "btrfs";
}

std::string shared_volume(const StorageMount& mount) {
  // A namespace is one volume, whether the entry names its server or the link of our udev rule.
  if (mount.what.starts_with(kNvmeLinkPrefix)) {
    const std::string name = mount.what.substr(kNvmeLinkPrefix.size());
    const std::size_t dash = name.rfind('-');
    if (dash != std::string::npos) {
      return "nvme_tcp " + name.substr(0, dash) + " namespace " + name.substr(dash + 1);
    }
  }
  if (mount.kind != StorageKind::kDevice) return {};
  const bool by_itself = mount.what.starts_with("/dev/disk/by-uuid/") || mount.what.starts_with("/dev/disk/by-id/") ||
                         mount.what.starts_with("/dev/disk/by-partuuid/") || is_path_to_server(mount.what);
  return by_itself ? mount.what : std::string();
}

std::string maybe_shared_volume(const StorageMount& mount) {
  const bool by_name = mount.what.starts_with("/dev/disk/") || mount.what.starts_with("/dev/mapper/");
  return mount.kind == StorageKind::kDevice && by_name && shared_volume(mount).empty() ? mount.what : std::string();
}

std::string device_path(const std::string& device) {
  static constexpr std::array<std::array<std::string_view, 2>, 4> kTags{
      {{"UUID=", "by-uuid/"}, {"LABEL=", "by-label/"}, {"PARTUUID=", "by-partuuid/"}, {"PARTLABEL=", "by-partlabel/"}}};
  for (const auto& [tag, directory] : kTags) {
    if (device.starts_with(tag)) return "/dev/disk/" + std::string(directory) + device.substr(tag.size());
  }
  return device;
}

}  // namespace sparkplan
