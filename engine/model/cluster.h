#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/ids.h"
#include "engine/core/value.h"
#include "engine/model/port_settings.h"

namespace sparkplan {

enum class HostKeyPolicy : std::uint8_t {
  kStrict,     ///< A key that is not in known_hosts and not pinned is refused.
  kAcceptNew,  ///< An unknown key is recorded at first contact; a changed key is refused.
};

enum class Become : std::uint8_t {
  kSudo,  ///< The agent is started through sudo unless the user is root.
  kNone,  ///< The agent runs as the SSH user.
};

/// The SSH settings of one node, as cluster.yaml has them. The transport adds those of ~/.ssh/config and resolves "~":
/// so a saved plan does not depend on the user who made it.
struct SshSettings {
  std::string user;  ///< Empty: ~/.ssh/config decides, else the user who runs sparkplan.
  std::uint16_t port = 22;
  std::string identity;  ///< Empty: ~/.ssh/config decides, else ssh-agent and the usual files in ~/.ssh.
  HostKeyPolicy host_keys = HostKeyPolicy::kStrict;
  Become become = Become::kSudo;
  std::string jump;         ///< Empty: ~/.ssh/config decides, else direct.
  std::string host_key;     ///< "SHA256:..." pin; empty: known_hosts decides.
  bool port_given = false;  ///< `port` is in the file, even if it is 22.
  /// False for a machine that only the roster names: what ~/.ssh/config says of its address does not count.
  bool named_by_file = true;

  bool operator==(const SshSettings&) const = default;
};

enum class TransportKind : std::uint8_t { kSsh, kLocal };

/// One half of a QSFP port as declared. Its address is computed from the node's stable id or is given in the file.
struct FabricPort : PortSettings {
  std::string interface = {};  ///< Empty when it is known only from the facts.
  int half = 0;                ///< 0 = A, 1 = B of the QSFP port; 2 and on for further cables.
  std::string address = {};    ///< "192.168.100.11"; empty for a half that has only a link-local one.
  int prefix_length = 0;       ///< 24
  SourceRange where = {};

  /// "A", "B"; for further cables "C", "D" and so on.
  std::string label() const { return std::string(1, static_cast<char>('A' + half % 26)); }
  /// "192.168.100.11/24"
  std::string address_text() const { return address + "/" + std::to_string(prefix_length); }
};

/// One member of the cluster, with all defaults, profiles and overrides merged in.
struct NodeSpec {
  NodeName name;
  int id = 0;           ///< Stable, from 1. Addresses are computed from it, never from list order.
  std::string address;  ///< IPv4, IPv6 or a host name; empty for a local node.
  SshSettings ssh;
  TransportKind transport = TransportKind::kSsh;
  std::filesystem::path root;  ///< For local nodes: the directory used as "/".
  bool maintenance = false;    ///< A member that is skipped.
  std::vector<FabricPort> fabric;
  /// The declarations of the file for this node: section key ("sysctl", "profile_env", "fabric") to its merged body.
  /// Each value in the bodies has the position where it was written.
  std::map<std::string, Value> sections;
  SourceRange where;
};

/// A cluster.yaml that has passed every check that needs no facts.
struct Cluster {
  std::string name;
  std::string file;             ///< As the user wrote it, for messages.
  std::string config_digest;    ///< SHA-256 over the canonical form of the parsed file and of the texts that it names.
  std::string profile;          ///< Empty: none.
  std::vector<NodeSpec> nodes;  ///< In the order of the file; never empty.
  /// The nodes at the two ends of each cable. Empty for a switch, where the topology does not name them.
  std::vector<std::pair<NodeName, NodeName>> cables = {};

  const NodeSpec* find(const NodeName& node) const;
};

/// Sections that belong to the cluster as a whole: thresholds of `verify`, content of `sync`. No resource type compiles
/// them.
inline constexpr std::array<std::string_view, 3> kSectionsWithoutType{"verify", "models", "images"};

constexpr bool needs_no_type(std::string_view key) {
  return std::find(kSectionsWithoutType.begin(), kSectionsWithoutType.end(), key) != kSectionsWithoutType.end();
}

/// How cluster.yaml names the machine that runs sparkplan, where a node could be named. No node has this name.
inline constexpr std::string_view kControllerName = "here";

}  // namespace sparkplan
