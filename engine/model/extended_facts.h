#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// Who answers at an address, as far as the kernel has asked. Source: rtnetlink(7), RTM_NEWNEIGH.
struct NeighbourFacts {
  std::string interface;
  std::string address;
  std::string mac;    ///< Empty: nobody has answered.
  std::string state;  ///< "reachable", "stale", "failed" ...

  bool operator==(const NeighbourFacts&) const = default;
};

/// A unit of systemd's that is there.
struct UnitFacts {
  std::string name;
  std::string active;         ///< "active", "inactive", "failed"
  std::string enabled;        ///< "enabled", "disabled", "static" ...
  std::string locked_memory;  ///< LimitMEMLOCK: bytes or "infinity"; empty for what is no service.

  bool operator==(const UnitFacts&) const = default;
};

/// What a packet filter does with new TCP connections over IPv4 to ports that the kernel has chosen, of those that fit
/// the first two. Rules for other connections, such as those to one port, make none.
struct InputVerdictFacts {
  std::string interface;  ///< "enp1s0f1np1", "enp*"; empty: any interface.
  std::string from;       ///< "192.168.100.0/24"; empty: any address.
  std::string verdict;    ///< "accept", "drop", or "unclear": the rule would have to be evaluated.
  std::string rule;       ///< Its text, or "policy drop".

  bool operator==(const InputVerdictFacts&) const = default;
};

/// A chain that all incoming packets pass. The first verdict that fits holds; without one the packet is accepted. All
/// such chains have to accept it.
struct InputChainFacts {
  std::string name;  ///< "ip filter INPUT"
  std::vector<InputVerdictFacts> verdicts;

  bool operator==(const InputChainFacts&) const = default;
};

/// The packet filter: all tables of nftables and iptables, with those of ufw.
struct FirewallFacts {
  std::string ufw;  ///< "active", "inactive"; empty: there is no ufw.
  std::vector<InputChainFacts> input_chains;

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

/// What an RDMA device tells of itself beside libibverbs. Source: /sys/class/infiniband.
struct RdmaFirmwareFacts {
  std::string device;
  std::string firmware;  ///< "28.45.4028"
  std::string board;     ///< "NVD0000000087"
  /// "port_rcv_errors", "symbol_error", "link_downed" ...: counted since the driver was loaded. Port 1.
  std::map<std::string, std::int64_t> errors;

  bool operator==(const RdmaFirmwareFacts&) const = default;
};

/// A file from which NCCL takes variables, whatever the environment says.
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

/// The login that the run has made on the node, over SSH, and what it got: not a login shell, as what `ssh NODE
/// COMMAND` and mpirun start.
struct LoginFacts {
  std::string user;
  std::optional<std::int64_t> uid;
  std::optional<bool> sudo_without_password;       ///< For all commands. Nothing: root himself.
  std::string locked_memory_soft;                  ///< Bytes or "unlimited"; empty: not over SSH.
  std::string locked_memory_hard;                  ///< As above.
  std::map<std::string, std::string> environment;  ///< NCCL's variables, those of its companions, LD_PRELOAD ...

  bool operator==(const LoginFacts&) const = default;
};

/// What is read of a machine only for those who ask for everything, as it takes programs or many files. As in
/// HostFacts what is not there is empty, and what could not be looked at is in `unreadable`.
struct ExtendedFacts {
  std::vector<NeighbourFacts> neighbours;
  std::map<std::string, std::string> sshd;  ///< `sshd -T`: the options that decide over logins and their limits.
  LoginFacts login;
  std::optional<FirewallFacts> firewall;     ///< Nothing: no packet filter is installed.
  std::optional<bool> clock_synchronised;    ///< Nothing: nobody could be asked.
  std::string netplan_error;                 ///< Why `netplan get` refuses; empty: it does not, or there is no netplan.
  std::string netplan_merged;                ///< What all files say together, as YAML.
  std::vector<UnitFacts> units;              ///< By name; of those that somebody may want to know of.
  std::vector<std::string> kernel_modules;   ///< Those of network, RDMA, NVMe and GPU that are loaded.
  std::vector<std::string> modules_at_boot;  ///< Named in modules-load.d, as they stand there.
  std::map<std::string, std::string> sysctl;
  std::vector<NvmeControllerFacts> nvme;
  std::vector<RdmaFirmwareFacts> rdma_firmware;
  std::vector<NcclFileFacts> nccl_files;
  std::map<std::string, std::string> nccl_profile;  ///< NCCL's variables in /etc/profile.d and /etc/environment.
  std::vector<FstabFacts> fstab;
  std::map<std::string, std::string> unreadable;  ///< Name of a field -> why it could not be looked at.

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
