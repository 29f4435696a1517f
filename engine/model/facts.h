#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model/extended_facts.h"
#include "engine/model/host_facts.h"
#include "engine/model/rdma_facts.h"

namespace sparkplan {

/// The kernel's state of a network interface. Source: rtnetlink(7).
struct LinkFacts {
  std::string name;
  std::string mac;  ///< "52:54:00:aa:00:01"; empty without one.
  int mtu = 0;
  bool up = false;                        ///< IFF_UP: the interface is enabled.
  bool carrier = false;                   ///< IFF_LOWER_UP: the link has a peer.
  std::vector<std::string> addresses;     ///< "10.0.0.11/24", "fe80::1/64"
  std::string kind;                       ///< "veth", "bond", "bridge", "vlan"; empty for hardware.
  std::string master;                     ///< The bond or bridge that it is a member of; else empty.
  std::string lower;                      ///< The lower link of a VLAN or macvlan; else empty.
  std::string port;                       ///< phys_port_name: "p0" or "p1" on a ConnectX-7; empty without one.
  std::string pci;                        ///< "0002:01:00.1"; empty for interfaces that are not PCI devices.
  std::string driver;                     ///< "mlx5_core"; empty without one.
  std::vector<std::string> rdma_devices;  ///< HCAs of the same PCI function: "roceP2p1s0f1".
  std::optional<int> speed_mbps = {};     ///< 200000; nothing while the link is down or without a speed.
  std::string managed_by = {};            ///< "networkd", "NetworkManager"; empty: neither.
  std::string profile = {};               ///< UUID of the profile that NetworkManager has activated on it.
  std::optional<std::int64_t> carrier_changes = {};  ///< Since the interface was created.
  std::optional<PcieLink> pcie = {};                 ///< Nothing for interfaces that are not PCI functions.
  /// Those of `addresses` that came by DHCP or a router advertisement, as far as the kernel shows it, and the seconds
  /// until each ends; nothing: it has no end. They may change at any moment. Only on the node: no message has them.
  std::map<std::string, std::optional<std::int64_t>> acquired = {};

  bool operator==(const LinkFacts&) const = default;
};

/// The facts of a node, read before its resources are observed. Absent hardware is an empty list or text, never an
/// error.
struct Facts {
  std::string hostname;
  std::string machine_id;    ///< /etc/machine-id
  std::string boot_id;       ///< Empty for an image root, which has no running system.
  std::string architecture;  ///< uname -m: "x86_64", "aarch64"
  std::string kernel;        ///< uname -r
  std::string os_id;         ///< os-release ID: "ubuntu"
  std::string os_name;       ///< os-release PRETTY_NAME
  std::string os_version;    ///< os-release VERSION_ID
  std::string product;       ///< DMI product name, or DGX_NAME of /etc/dgx-release
  /// The version of the system's libnccl.so.2: "2.28.9"; "2.28.9 and 2.30.7" if the version in use cannot be
  /// determined; empty without one. See parse_nccl_version().
  std::string nccl_version;
  bool live = true;  ///< False for a directory tree or image: no kernel, links, units.
  std::int64_t memory_total_bytes = 0;
  std::int64_t uptime_seconds = 0;
  std::string ssh_server_address;  ///< The node's address of the SSH connection; empty when local.
  std::vector<LinkFacts> links;
  std::vector<RdmaDeviceFacts> rdma_devices;
  HostFacts host;
  std::optional<ExtendedFacts> extended;  ///< Only for nodes from which it was requested.
};

/// The links that have this address; for "fe80::1%enp1", that link. Empty if no link has it.
std::set<std::string> links_with_address(const std::string& address, const std::vector<LinkFacts>& links);

/// `links` and the links below them, down to the hardware: a VLAN's lower link, the members of a bond or bridge.
std::set<std::string> links_below(std::set<std::string> links, const std::vector<LinkFacts>& all);

/// True for a GB10 machine of NVIDIA or one of its partners, by its product name.
bool is_dgx_spark(const Facts& facts);

void list_fields(FieldVisitor& field, LinkFacts& link);
void list_fields(FieldVisitor& field, Facts& facts);

}  // namespace sparkplan
