#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// A route in any table but the kernel's own "local". It covers all routes that a fabric subnet could collide with,
/// including those that the kernel derives from addresses. Source: rtnetlink(7), RTM_NEWROUTE.
struct RouteFacts {
  std::string interface;
  std::string destination;  ///< "192.168.100.0/24"; "0.0.0.0/0" and "::/0" for the default.
  std::string gateway;      ///< Empty: a route on the link itself.
  std::int64_t metric = 0;
  std::string protocol;    ///< "kernel", "boot", "static", "dhcp", "ra"; for other protocols the number.
  bool link_down = false;  ///< The kernel keeps the route, but its interface has no carrier.
  int table = 254;         ///< 254: main
  /// 1: this is a single route. More: this many routes through the interface, too many to list each, were merged. They
  /// lie within `destination` (for IPv6: also outside it). The free addresses inside it are unknown. Their gateways,
  /// metrics and tables are not reported.
  int stands_for = 1;

  bool operator==(const RouteFacts&) const = default;
};

/// The creator of a NetworkManager profile.
enum class ProfileOrigin : std::uint8_t {
  kHandWritten,  ///< By nmcli, a desktop or an administrator: a file in /etc.
  kGenerated,    ///< By NetworkManager itself, for an interface without configuration: "Wired connection 1".
  kNetplan,
};
constexpr EnumNames<3> names_of(ProfileOrigin /*origin*/) { return {"hand-written", "generated", "netplan"}; }

/// A NetworkManager profile, without its secrets. Source: nm-settings-keyfile(5).
struct NetworkProfile {
  std::string id;         ///< "Wired connection 1"
  std::string uuid;       ///< Empty if the file has none: NetworkManager then derives one from the file's name.
  std::string type;       ///< "ethernet", "wifi", "bond" ...
  std::string interface;  ///< Empty: any matching interface.
  std::string mac;        ///< Of the interface, if the profile is bound to it; lower case.
  std::string method;     ///< ipv4.method: "auto", "manual", "disabled", "link-local", "shared"
  bool autoconnect = true;
  ProfileOrigin origin = ProfileOrigin::kHandWritten;
  std::string file;

  bool operator==(const NetworkProfile&) const = default;
};

/// A host key of the node's sshd.
struct HostKeyFacts {
  std::string type;         ///< "ssh-ed25519"
  std::string fingerprint;  ///< "SHA256:..." as ssh-keygen -l prints it.

  bool operator==(const HostKeyFacts&) const = default;
};

/// A file that netplan merges. Source: netplan(5).
struct NetplanFileFacts {
  std::string path;
  std::uint32_t mode = 0;  ///< Permission bits: 0600.

  bool operator==(const NetplanFileFacts&) const = default;
};

/// Host facts that every run reads, from small files and from the kernel, without starting a program. Absent things are
/// empty or without a value. Existing but unreadable ones are listed in `unreadable`.
struct HostFacts {
  std::string vendor;                            ///< DMI
  std::string board;                             ///< DMI
  std::string bios_version;                      ///< DMI
  std::string bios_date;                         ///< DMI, as "2026-04-02".
  std::string kernel_command_line;               ///< /proc/cmdline
  std::string gpu_driver;                        ///< "580.95.05": of NVIDIA's kernel module, while it is loaded.
  std::string nvme_host_nqn;                     ///< /etc/nvme/hostnqn
  std::string nvme_host_id;                      ///< /etc/nvme/hostid
  std::optional<std::int64_t> memory_available;  ///< Bytes.
  std::optional<std::int64_t> cma_total;         ///< Bytes. Nothing: the kernel has no contiguous memory allocator.
  std::optional<std::int64_t> cma_free;          ///< Bytes.
  std::vector<std::string> renderers;            ///< The running ones: "networkd", "NetworkManager".
  std::vector<HostKeyFacts> host_keys;           ///< By type.
  std::vector<RouteFacts> routes;
  std::vector<NetworkProfile> network_profiles;
  std::vector<NetplanFileFacts> netplan_files;    ///< In the order in which netplan reads them.
  std::map<std::string, std::string> unreadable;  ///< Name of a field -> why it could not be read.

  bool operator==(const HostFacts&) const = default;
};

void list_fields(FieldVisitor& field, RouteFacts& route);
void list_fields(FieldVisitor& field, NetworkProfile& profile);
void list_fields(FieldVisitor& field, HostKeyFacts& key);
void list_fields(FieldVisitor& field, NetplanFileFacts& file);
void list_fields(FieldVisitor& field, HostFacts& facts);

}  // namespace sparkplan
