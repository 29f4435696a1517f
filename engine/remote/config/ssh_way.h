#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/config/ssh_config.h"
#include "engine/remote/config/ssh_host_settings.h"

namespace sparkplan {

/// The user who runs sparkplan, as settings refer to them.
struct LocalUser {
  std::string name;
  std::string home;
  /// An environment variable; nothing if it is not set.
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

/// A private key file for a login.
struct IdentityFile {
  std::string path;   ///< Absolute, or relative to the working directory.
  std::string shown;  ///< As written: "~/.ssh/lab".
  std::string place;  ///< "~/.ssh/config:12"; empty for `ssh.identity` of cluster.yaml, whose file must exist.
};

/// One SSH server on the way to a node: a jump host, or the node itself.
struct SshStation {
  std::string node;     ///< The node's name in cluster.yaml, also for its jump hosts.
  std::string name;     ///< As the file or ProxyJump names the host: the `Host` of ~/.ssh/config.
  std::string address;  ///< Where it is reached: its HostName.
  /// Where the configuration has that HostName: "~/.ssh/config:12". Empty: it has none for this host; without a value:
  /// it was not asked.
  std::optional<std::string> address_place;
  std::uint16_t port = 22;
  std::string user;
  bool user_is_given = false;  ///< By cluster.yaml or ~/.ssh/config; otherwise it is the local user.
  bool is_jump_host = false;
  std::vector<IdentityFile> identities;  ///< Tried in this order.
  bool usual_identities = true;          ///< No identities are given: ~/.ssh/id_* are tried.
  bool only_identities = false;          ///< IdentitiesOnly: no keys that only ssh-agent has.
  std::string agent;                     ///< The socket of ssh-agent; empty: none.
  std::string host_key_alias;            ///< Empty: none.
  std::vector<std::string> known_hosts;  ///< The user's files; a new key is added to the first.
  HostKeyPolicy host_keys = HostKeyPolicy::kStrict;
  std::string host_key;  ///< The pin; empty: known_hosts decides.

  /// Its name in known_hosts: the alias, else "10.0.0.11" or "[10.0.0.11]:2222".
  std::string known_name() const;
  /// "nvidia@10.0.0.11"
  std::string login() const { return user + "@" + address; }
  /// "jump host bastion (10.0.0.1)"; empty for the node itself.
  std::string context() const;
  /// The hint if no address is found for the name `address`.
  std::string unknown_name_hint() const;
};

/// How a node is reached.
struct SshWay {
  std::vector<SshStation> stations;  ///< The jump hosts in their order, then the node.
  std::vector<IgnoredSetting> ignored;

  const SshStation& node() const { return stations.back(); }
};

/// Pure. The way to a node: what cluster.yaml says, else the configuration, else the defaults. A machine that only the
/// roster names takes nothing from the configuration; its jump host, which the file names, does.
/// Errors: kInvalidInput with the place of a setting that cannot be used. Source: ssh_config(5).
Result<SshWay> way_to(const NodeSpec& node, const SshConfig& config, const LocalUser& me);

}  // namespace sparkplan
