#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model/extended_facts.h"
#include "engine/model/host_facts.h"
#include "engine/model/rdma_facts.h"

namespace sparkplan {

/// A network interface as the kernel has it. Source: rtnetlink(7).
struct LinkFacts {
  std::string name;
  std::string mac;  ///< "52:54:00:aa:00:01"; empty where there is none.
  int mtu = 0;
  bool up = false;                        ///< IFF_UP: somebody wants it up.
  bool carrier = false;                   ///< IFF_LOWER_UP: there is a peer.
  std::vector<std::string> addresses;     ///< "10.0.0.11/24", "fe80::1/64"
  std::string kind;                       ///< "veth", "bond", "bridge", "vlan"; empty for hardware.
  std::string master;                     ///< The bond or bridge it is a member of; else empty.
  std::string lower;                      ///< What a VLAN or macvlan sits on; else empty.
  std::string port;                       ///< phys_port_name: "p0" or "p1" on a ConnectX-7; empty where there is none.
  std::string pci;                        ///< "0002:01:00.1"; empty for what is no PCI device.
  std::string driver;                     ///< "mlx5_core"; empty where there is none.
  std::vector<std::string> rdma_devices;  ///< HCAs of the same PCI function: "roceP2p1s0f1".
  std::optional<int> speed_mbps = {};     ///< 200000; nothing where the link is down or has no speed.
  std::string managed_by = {};            ///< "networkd", "NetworkManager"; empty: nobody of the two.
  std::string profile = {};               ///< UUID of the profile that NetworkManager has activated on it.
  std::optional<std::int64_t> carrier_changes = {};  ///< Since the interface has been there.
  std::optional<PcieLink> pcie = {};                 ///< Nothing for what is no PCI function.

  bool operator==(const LinkFacts&) const = default;
};

/// What is known of a node before anything is observed. Absent hardware is an empty list or text,
/// never an error.
struct Facts {
  std::string hostname;
  std::string machine_id;    ///< /etc/machine-id
  std::string boot_id;       ///< Empty for an image root: nothing is running there.
  std::string architecture;  ///< uname -m: "x86_64", "aarch64"
  std::string kernel;        ///< uname -r
  std::string os_id;         ///< os-release ID: "ubuntu"
  std::string os_name;       ///< os-release PRETTY_NAME
  std::string os_version;    ///< os-release VERSION_ID
  std::string product;       ///< DMI product name, or DGX_NAME of /etc/dgx-release
  /// "2.28.9", of the system's libnccl.so.2; "2.28.9 and 2.30.7" where nobody can tell which it is, empty where there
  /// is none. See parse_nccl_version().
  std::string nccl_version;
  bool live = true;  ///< False for a directory tree or image: no kernel, links, units.
  std::int64_t memory_total_bytes = 0;
  std::int64_t uptime_seconds = 0;
  std::string ssh_server_address;  ///< The node's end of the SSH connection; empty when local.
  std::vector<LinkFacts> links;
  std::vector<RdmaDeviceFacts> rdma_devices;
  HostFacts host;
  std::optional<ExtendedFacts> extended;  ///< Only of a node that was asked for everything.
};

/// The links that have this address; of "fe80::1%enp1", that link. Empty when none shows it.
std::set<std::string> links_with_address(const std::string& address, const std::vector<LinkFacts>& links);

/// Those links, and what they sit on or are made of, down to the hardware: a VLAN's lower link, the members of a
/// bond or bridge.
std::set<std::string> links_below(std::set<std::string> links, const std::vector<LinkFacts>& all);

/// True for a GB10 machine of NVIDIA or one of its partners, by its own names.
bool is_dgx_spark(const Facts& facts);

void list_fields(FieldVisitor& field, LinkFacts& link);
void list_fields(FieldVisitor& field, Facts& facts);

}  // namespace sparkplan
