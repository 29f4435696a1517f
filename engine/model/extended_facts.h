#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/readiness_facts.h"

namespace sparkplan {

/// An entry of the kernel's neighbour table: an address, and the MAC address that has answered for it.
/// Source: rtnetlink(7), RTM_NEWNEIGH.
struct NeighbourFacts {
  std::string interface;
  std::string address;
  std::string mac;    ///< Empty: no answer yet.
  std::string state;  ///< "reachable", "stale", "failed" ...

  bool operator==(const NeighbourFacts&) const = default;
};

/// An existing systemd unit.
struct UnitFacts {
  std::string name;
  std::string active;         ///< "active", "inactive", "failed"
  std::string enabled;        ///< "enabled", "disabled", "static" ...
  std::string locked_memory;  ///< LimitMEMLOCK: bytes or "infinity"; empty for units that are not services.

  bool operator==(const UnitFacts&) const = default;
};

/// The verdict of a packet filter on new TCP connections over IPv4 to ephemeral ports, for connections that match
/// `interface` and `from`. Rules for other connections, such as those to a single port, are not listed.
struct InputVerdictFacts {
  std::string interface;  ///< "enp1s0f1np1", "enp*"; empty: any interface.
  std::string from;       ///< "192.168.100.0/24"; empty: any address.
  std::string verdict;    ///< "accept", "drop", or "unclear": the rule depends on more than sparkplan evaluates.
  std::string rule;       ///< The text of the rule, or "policy drop".
  std::string to = {};    ///< The outgoing interface, in a chain for forwarded packets; empty: any interface.

  bool operator==(const InputVerdictFacts&) const = default;
};

/// A chain that all incoming packets pass. The first matching verdict applies; without a match the packet is accepted.
/// A packet arrives only if all such chains accept it.
struct InputChainFacts {
  std::string name;  ///< "ip filter INPUT"
  std::vector<InputVerdictFacts> verdicts;

  bool operator==(const InputChainFacts&) const = default;
};

/// The packet filter: all tables of nftables and iptables, including ufw's tables.
struct FirewallFacts {
  std::string ufw;  ///< "active", "inactive"; empty: ufw is not installed.
  std::vector<InputChainFacts> input_chains;
  std::vector<InputChainFacts> forward_chains = {};  ///< For packets from one interface of the node to another.

  bool operator==(const FirewallFacts&) const = default;
};

/// A controller of an NVMe device, local or over a network. Source: /sys/class/nvme.
struct NvmeControllerFacts {
  std::string name;       ///< "nvme0"
  std::string transport;  ///< "pcie", "tcp", "rdma"
  std::string address;    ///< "traddr=192.168.100.1,trsvcid=4420"
  std::string state;      ///< "live", "connecting"
  std::string subsystem;  ///< Its NQN.

  bool operator==(const NvmeControllerFacts&) const = default;
};

/// Attributes of an RDMA device that libibverbs does not report. Source: /sys/class/infiniband.
struct RdmaFirmwareFacts {
  std::string device;
  std::string firmware;  ///< "28.45.4028"
  std::string board;     ///< "NVD0000000087"
  /// "port_rcv_errors", "symbol_error", "link_downed" ...: counted since the driver was loaded. Port 1.
  std::map<std::string, std::int64_t> errors;

  bool operator==(const RdmaFirmwareFacts&) const = default;
};

/// A file from which NCCL reads variables, in addition to the environment.
struct NcclFileFacts {
  std::string file;
  std::map<std::string, std::string> variables;

  bool operator==(const NcclFileFacts&) const = default;
};

/// A line of /etc/fstab.
struct FstabFacts {
  std::string device;
  std::string target;
  std::string type;
  std::string options;

  bool operator==(const FstabFacts&) const = default;
};

/// Limits and environment of our SSH session on the node. It is not a login shell; `ssh NODE COMMAND` and mpirun start
/// the same kind of session.
struct LoginFacts {
  std::string user;
  std::optional<std::int64_t> uid;
  std::optional<bool> sudo_without_password;       ///< For all commands. Nothing: the user is root.
  std::string locked_memory_soft;                  ///< Bytes or "unlimited"; empty for a local node.
  std::string locked_memory_hard;                  ///< As locked_memory_soft.
  std::map<std::string, std::string> environment;  ///< The variables of NCCL and of its plug-ins, LD_PRELOAD ...
  std::optional<bool> linger;                      ///< logind keeps the user's manager after the last logout.

  bool operator==(const LoginFacts&) const = default;
};

/// Facts that are read only on request, because they need programs or many files. As in HostFacts, absent things are
/// empty, and unreadable ones are listed in `unreadable`.
struct ExtendedFacts {
  std::vector<NeighbourFacts> neighbours;
  std::map<std::string, std::string> sshd;  ///< `sshd -T`: the options that control logins and their limits.
  LoginFacts login;
  std::optional<FirewallFacts> firewall;     ///< Nothing: no packet filter is installed.
  std::optional<bool> clock_synchronised;    ///< Nothing: no time service answered.
  std::optional<bool> removes_ipc;           ///< logind's RemoveIPC. Nothing: logind did not answer.
  std::string netplan_error;                 ///< The error of `netplan get`; empty: no error, or no netplan.
  std::string netplan_merged;                ///< All netplan files merged, as YAML.
  std::vector<UnitFacts> units;              ///< By name; only units that sparkplan checks or reports.
  std::string earlyoom_avoids;               ///< The pattern of programs that a running earlyoom spares; may be empty.
  std::vector<std::string> kernel_modules;   ///< Loaded modules for network, RDMA, NVMe and GPU.
  std::vector<std::string> modules_at_boot;  ///< Named in modules-load.d, as written there.
  std::map<std::string, std::string> sysctl;
  std::vector<NvmeControllerFacts> nvme;
  std::vector<RdmaFirmwareFacts> rdma_firmware;
  std::vector<NcclFileFacts> nccl_files;
  std::map<std::string, std::string> nccl_profile;  ///< NCCL's variables in /etc/profile.d and /etc/environment.
  std::vector<FstabFacts> fstab;
  std::vector<std::string> own_name_addresses;  ///< Of the node's host name in /etc/hosts, in the file's order.
  ContainerFacts containers;
  std::optional<GpuFacts> gpu;  ///< Nothing: there is no nvidia-smi.
  /// Percent of the last 10 seconds in which all programs waited for memory. Nothing: the kernel does not count it.
  std::optional<double> memory_pressure;
  std::optional<SharedMemoryFacts> shared_memory;  ///< Nothing: not known.
  SwapFacts swap;
  SoftwareFacts software;
  std::map<std::string, std::string> unreadable;  ///< Name of a field -> why it could not be read.

  bool operator==(const ExtendedFacts&) const = default;
};

void list_fields(FieldVisitor& field, NeighbourFacts& neighbour);
void list_fields(FieldVisitor& field, UnitFacts& unit);
void list_fields(FieldVisitor& field, InputVerdictFacts& verdict);
void list_fields(FieldVisitor& field, InputChainFacts& chain);
void list_fields(FieldVisitor& field, FirewallFacts& firewall);
void list_fields(FieldVisitor& field, NvmeControllerFacts& controller);
void list_fields(FieldVisitor& field, RdmaFirmwareFacts& firmware);
void list_fields(FieldVisitor& field, NcclFileFacts& file);
void list_fields(FieldVisitor& field, FstabFacts& line);
void list_fields(FieldVisitor& field, LoginFacts& login);
void list_fields(FieldVisitor& field, ExtendedFacts& facts);

}  // namespace sparkplan
