#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

/// The section `storage`, which two resource types compile: volumes, and their mounts. Everything here is pure.
namespace sparkplan {

enum class StorageKind : std::uint8_t { kNvmeTcp, kNfs, kDevice, kBind, kTmpfs };

/// An NVMe namespace that a server offers over TCP.
struct NvmeTcpVolume {
  std::string address;             ///< IPv4, IPv6 or a name.
  int port = 4420;                 ///< TCP. Source: NVMe over Fabrics, the port assigned by IANA.
  std::string subsystem;           ///< NQN
  std::uint32_t namespace_id = 1;  ///< NSID, from 1 to 4294967294.
};

/// One entry of the section as it will be mounted.
struct StorageMount {
  std::string target;  ///< "/mnt/models"
  StorageKind kind = StorageKind::kTmpfs;
  std::string what;                   ///< The What= of a mount unit: "/dev/disk/by-id/...", "server:/path", "tmpfs".
  std::string type;                   ///< "ext4", "nfs4", "none" for a bind mount.
  std::vector<std::string> options;   ///< From the file, then those that make it safe; "ro" is last.
  std::optional<NvmeTcpVolume> nvme;  ///< Only for kNvmeTcp.
  SourceRange where;                  ///< Of the target in cluster.yaml.
  SourceRange source_where;           ///< Of the value of "source", or of its content.

  bool read_only() const;
};

/// True if mount(8) mounts read-only with these options: the last of "ro" and "rw" counts. False for an option with a
/// quote or a backslash: libmount treats everything between two quotes, commas included, as one option.
bool is_read_only(const std::vector<std::string>& options);

/// The complete entries; the checks report what the others lack.
std::vector<StorageMount> storage_mounts(const Value& section);

/// The link that our udev rule makes for a namespace. Its target depends on the server, not on the order of discovery.
std::string nvme_device_link(const NvmeTcpVolume& volume);
/// The beginning of the links of nvme_device_link().
inline constexpr std::string_view kNvmeLinkPrefix = "/dev/disk/by-id/sparkplan-nvme-";

/// True for a file system that only one machine at a time may write. No other machine may mount it meanwhile.
bool is_for_one_machine(std::string_view file_system);

/// The identity of a volume in the whole cluster, if it is known: "nvme_tcp llm-models namespace 1". Empty for a volume
/// that each node has separately, such as a disk found by its label.
std::string shared_volume(const StorageMount& mount);

/// A device that may be the same one for all nodes, although its name does not show it: "/dev/mapper/mpatha". Empty for
/// volumes with a shared_volume().
std::string maybe_shared_volume(const StorageMount& mount);

/// "UUID=...", "LABEL=...", "PARTUUID=..." and "PARTLABEL=..." as the links that udev makes; other names unchanged.
/// Source: 60-persistent-storage.rules.
std::string device_path(const std::string& device);

/// The unit that keeps the connection to a subsystem; the mounts of its volumes wait for it. The NQNs that cluster.yaml
/// permits need no escaping.
inline std::string nvme_unit_name(std::string_view subsystem) {
  return "sparkplan-nvme-" + std::string(subsystem) + ".service";
}

}  // namespace sparkplan
