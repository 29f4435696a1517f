#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

/// The section `storage`, which two resource types compile: volumes, and where they are mounted.
/// Everything here is pure.
namespace sparkplan {

enum class StorageKind : std::uint8_t { kNvmeTcp, kNfs, kDevice, kBind, kTmpfs };

/// An NVMe namespace that a server offers over TCP.
struct NvmeTcpVolume {
  std::string address;             ///< IPv4, IPv6 or a name.
  int port = 4420;                 ///< TCP. Source: NVMe over Fabrics, the port that IANA has for it.
  std::string subsystem;           ///< NQN
  std::uint32_t namespace_id = 1;  ///< NSID, from 1 to 4294967294.
};

/// One entry of the section as it will be mounted.
struct StorageMount {
  std::string target;  ///< "/mnt/models"
  StorageKind kind = StorageKind::kTmpfs;
  std::string what;  ///< What is mounted, as a mount unit has it: "/dev/disk/by-id/...", "server:/path", "tmpfs".
  std::string type;  ///< "ext4", "nfs4", "none" for a bind mount.
  std::vector<std::string> options;   ///< Those of the file, and those that make it safe; "ro" is the last.
  std::optional<NvmeTcpVolume> nvme;  ///< Of kind kNvmeTcp.
  SourceRange where;                  ///< Of the target in cluster.yaml.
  SourceRange source_where;           ///< Of the value of "source", or of what is in it.

  bool read_only() const;
};

/// What mount(8) makes of options, the last of "ro" and "rw" counting. False where one has a quote or a backslash:
/// libmount takes all between two quotes, commas and all, for a single option.
bool is_read_only(const std::vector<std::string>& options);

/// The entries that are whole; what one lacks is found by the checks.
std::vector<StorageMount> storage_mounts(const Value& section);

/// The link that our udev rule makes for a namespace: the server, not the order of discovery, decides
/// what it leads to.
std::string nvme_device_link(const NvmeTcpVolume& volume);
/// What such links begin with: "/dev/disk/by-id/sparkplan-nvme-".
inline constexpr std::string_view kNvmeLinkPrefix = "/dev/disk/by-id/sparkplan-nvme-";

/// Of this file system only one machine may write at a time, and none may be mounted elsewhere beside it.
bool is_for_one_machine(std::string_view file_system);

/// What tells a volume apart in the whole cluster, where that is known: "nvme_tcp llm-models namespace 1".
/// Empty for one that each node has for itself, such as a disk that is found by its label.
std::string shared_volume(const StorageMount& mount);

/// A device that may be one and the same for all nodes, where its name does not tell: "/dev/mapper/mpatha". Empty for
/// what shared_volume() knows.
std::string maybe_shared_volume(const StorageMount& mount);

/// "UUID=..." and its kin as the links that udev makes; any other name as it is.
/// Source: 60-persistent-storage.rules.
std::string device_path(const std::string& device);

/// True when `inner` is `outer` or lies below it; both are paths without a final '/'.
bool is_within(std::string_view inner, std::string_view outer);

}  // namespace sparkplan
