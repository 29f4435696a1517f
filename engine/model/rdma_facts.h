#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// One address of an RDMA port. The kernel makes two (one per type) for every address of the interface.
struct RdmaGid {
  int index = 0;
  std::string type;       ///< "RoCE v2", "IB/RoCE v1", "IB".
  std::string gid;        ///< As an IPv6 address: "::ffff:192.168.100.11", "fe80::5054:ff:fe61:1".
  std::string interface;  ///< "enp1s0f1np1"; empty without one.

  bool operator==(const RdmaGid&) const = default;
};

struct RdmaPortFacts {
  int number = 1;
  std::string state;                   ///< "ACTIVE", "DOWN", "INIT" ...
  std::string physical_state;          ///< "LinkUp", "Disabled", "Polling" ...
  std::string link_layer;              ///< "Ethernet", "InfiniBand"
  std::string rate;                    ///< "100 Gb/sec (2X HDR)", from active width and speed.
  std::optional<int> active_mtu = {};  ///< Bytes: 1024 or 4096. Nothing: the port is not active.
  std::vector<RdmaGid> gids = {};      ///< By index. Only for an active port.

  bool operator==(const RdmaPortFacts&) const = default;
};

/// The PCIe link of a function: 4 lanes of "32.0 GT/s PCIe" on a half of a DGX Spark.
struct PcieLink {
  int width = 0;  ///< Lanes in use; 0: unknown.
  int max_width = 0;
  std::string speed;  ///< Empty: unknown.
  std::string max_speed;

  bool operator==(const PcieLink&) const = default;
};

/// `read` returns the text of a file of the function in sysfs: "4", "255" or "Unknown" lanes, "32.0 GT/s PCIe".
PcieLink pcie_link_from(const std::function<std::string(const char* file)>& read);

/// An RDMA device that libibverbs lists.
struct RdmaDeviceFacts {
  std::string name;
  std::string node_guid;
  int ports = 0;
  std::vector<RdmaPortFacts> port_facts = {};  ///< By number.
  std::string pci = {};                        ///< "0000:01:00.1"; empty for a device in software.
  std::optional<PcieLink> pcie = {};           ///< Nothing for devices that are not PCI functions.

  bool operator==(const RdmaDeviceFacts&) const = default;
};

/// The GID index that RDMA over Ethernet needs so that packets leave with `address` (IPv4). It is the index of the RoCE
/// v2 GID made from `address`, on `interface` unless that is empty. The index depends on the earlier addresses of the
/// interface, so a fixed number is right on some machines only. Errors: kNotFound, with the existing GIDs.
Result<int> roce_v2_gid_index(const RdmaPortFacts& port, const std::string& address, const std::string& interface);

/// The port that the interface's GIDs belong to, or else the only port; null without one.
const RdmaPortFacts* rdma_port(const RdmaDeviceFacts& device, const std::string& interface);

void list_fields(FieldVisitor& field, RdmaGid& gid);
void list_fields(FieldVisitor& field, RdmaPortFacts& port);
void list_fields(FieldVisitor& field, PcieLink& link);
void list_fields(FieldVisitor& field, RdmaDeviceFacts& device);

}  // namespace sparkplan
