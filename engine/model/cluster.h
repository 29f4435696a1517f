#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/ids.h"
#include "engine/core/value.h"

namespace sparkplan {

enum class HostKeyPolicy : std::uint8_t {
  kStrict,     ///< A key that is not in known_hosts and not pinned is refused.
  kAcceptNew,  ///< An unknown key is recorded at first contact; a changed one is refused.
};

enum class Become : std::uint8_t {
  kSudo,  ///< The agent is started through sudo unless the user is root.
  kNone,  ///< The agent runs as the SSH user.
};

/// How to reach one node. `identity` and `root` have had "~" resolved by nobody: that is the
/// transport's business, so that a saved plan does not depend on who made it.
struct SshSettings {
  std::string user;
  std::uint16_t port = 22;
  std::string identity;  ///< Empty: ssh-agent, then the usual files in ~/.ssh.
  HostKeyPolicy host_keys = HostKeyPolicy::kStrict;
  Become become = Become::kSudo;
  std::string jump;      ///< Empty: direct.
  std::string host_key;  ///< "SHA256:..." pin; empty: known_hosts decides.

  bool operator==(const SshSettings&) const = default;
};

enum class TransportKind : std::uint8_t { kSsh, kLocal };

/// One half of a QSFP port as declared: its address derives from the node's stable id or is given in the file.
struct FabricPort {
  std::string interface;  ///< Empty when only the facts can name it.
  int half = 0;           ///< 0 = A, 1 = B of the QSFP port; counts on for further cables.
  std::string address;    ///< "192.168.100.11"; empty for a link-local half.
  int prefix_length = 0;  ///< 24
  std::optional<int> mtu;
  bool link_local = false;  ///< `link_local: ipv4` instead of an address.
  SourceRange where;

  /// "A", "B"; of further cables "C", "D" and on.
  std::string label() const { return std::string(1, static_cast<char>('A' + half % 26)); }
  /// "192.168.100.11/24"
  std::string address_text() const { return address + "/" + std::to_string(prefix_length); }
};

/// One member of the cluster with every default, profile and override already merged in.
struct NodeSpec {
  NodeName name;
  int id = 0;           ///< Stable, from 1; addresses derive from it, never from list order.
  std::string address;  ///< IPv4, IPv6 or a host name; empty for a local node.
  SshSettings ssh;
  TransportKind transport = TransportKind::kSsh;
  std::filesystem::path root;  ///< For local nodes: the directory that stands for "/".
  bool maintenance = false;    ///< A member that is skipped.
  std::vector<FabricPort> fabric;
  /// What the file declares for this node: section key ("sysctl", "profile_env", "fabric") to its
  /// merged body. Positions inside the bodies point at where each value was written.
  std::map<std::string, Value> sections;
  SourceRange where;
};

/// A cluster.yaml that has passed every check which needs no facts.
struct Cluster {
  std::string name;
  std::string file;             ///< As the user named it, for messages.
  std::string config_digest;    ///< SHA-256 over the canonical form of the parsed file and the texts it names.
  std::string profile;          ///< Empty: none.
  std::vector<NodeSpec> nodes;  ///< In the order of the file; never empty.
  /// Nodes at the two ends of one cable, as far as the topology says so: a switch has none.
  std::vector<std::pair<NodeName, NodeName>> cables = {};

  const NodeSpec* find(const NodeName& node) const;
};

}  // namespace sparkplan
