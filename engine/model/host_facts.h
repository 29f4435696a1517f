#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// One way out of the node, of any table but the kernel's own "local": everything that a subnet of the fabric could
/// collide with, also what the kernel derives from addresses. Source: rtnetlink(7), RTM_NEWROUTE.
struct RouteFacts {
  std::string interface;
  std::string destination;  ///< "192.168.100.0/24"; "0.0.0.0/0" and "::/0" for the default.
  std::string gateway;      ///< Empty: on the link.
  std::int64_t metric = 0;
  std::string protocol;    ///< "kernel", "boot", "static", "dhcp", "ra"; of others the number.
  bool link_down = false;  ///< The kernel keeps it, and its interface has no carrier.
  int table = 254;         ///< 254: main
  /// 1: it is a route. More: there are too many to name each; so many, through that interface, lie somewhere within
  /// `destination` (of IPv6: beside it), and what they leave of it nobody knows. Their gateways, metrics and tables are
  /// not told then.
  int stands_for = 1;

  bool operator==(const RouteFacts&) const = default;
};

/// Who has made a profile of NetworkManager's.
enum class ProfileOrigin : std::uint8_t {
  kHandWritten,  ///< By nmcli, a desktop, a guide: a file in /etc.
  kGenerated,    ///< By NetworkManager itself, for an interface that nobody said anything of: "Wired connection 1".
  kNetplan,
};
/// "hand-written", "generated", "netplan"
std::span<const std::string_view> names_of(ProfileOrigin origin);

/// A profile of NetworkManager's, without its secrets. Source: nm-settings-keyfile(5).
struct NetworkProfile {
  std::string id;         ///< "Wired connection 1"
  std::string uuid;       ///< Empty where the file has none: NetworkManager then makes one of the file's name.
  std::string type;       ///< "ethernet", "wifi", "bond" ...
  std::string interface;  ///< Empty: any that fits.
  std::string mac;        ///< The interface's, where the profile is bound to that; lower case.
  std::string method;     ///< ipv4.method: "auto", "manual", "disabled", "link-local", "shared"
  bool autoconnect = true;
  ProfileOrigin origin = ProfileOrigin::kHandWritten;
  std::string file;

  bool operator==(const NetworkProfile&) const = default;
};

/// A host key of the node's sshd.
struct HostKeyFacts {
  std::string type;         ///< "ssh-ed25519"
  std::string fingerprint;  ///< "SHA256:..." as ssh-keygen -l writes it.

  bool operator==(const HostKeyFacts&) const = default;
};

/// A file that netplan merges. Source: netplan(5).
struct NetplanFileFacts {
  std::string path;
  std::uint32_t mode = 0;  ///< Permission bits: 0600.

  bool operator==(const NetplanFileFacts&) const = default;
};

/// What of a machine is read with the facts of every run: from small files and from the kernel, without a program
/// being started. Empty, or nothing: it is not there. What is there and could not be looked at is in `unreadable`.
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
  std::vector<std::string> renderers;            ///< Those that are running: "networkd", "NetworkManager".
  std::vector<HostKeyFacts> host_keys;           ///< By type.
  std::vector<RouteFacts> routes;
  std::vector<NetworkProfile> network_profiles;
  std::vector<NetplanFileFacts> netplan_files;    ///< In the order in which netplan reads them.
  std::map<std::string, std::string> unreadable;  ///< Name of a field -> why it could not be looked at.

  bool operator==(const HostFacts&) const = default;
};

void list_fields(FieldVisitor& field, RouteFacts& route);
void list_fields(FieldVisitor& field, NetworkProfile& profile);
void list_fields(FieldVisitor& field, HostKeyFacts& key);
void list_fields(FieldVisitor& field, NetplanFileFacts& file);
void list_fields(FieldVisitor& field, HostFacts& facts);

}  // namespace sparkplan
