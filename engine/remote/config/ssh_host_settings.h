#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/config/ssh_config.h"

namespace sparkplan {

/// The value of a setting, and where it is.
struct SshSetting {
  std::string value;
  std::string place;  ///< "~/.ssh/config:12"
};

/// A setting of ~/.ssh/config that applies to a host and that sparkplan does not use.
struct IgnoredSetting {
  std::string what;     ///< "ProxyCommand", "Match exec"
  std::string place;    ///< "~/.ssh/config:12"
  bool matters = true;  ///< It may be why a connection or a login fails.

  bool operator==(const IgnoredSetting&) const = default;
};

/// The settings of the configuration for a host, as written: tokens and "~" stay.
struct SshHostSettings {
  std::optional<SshSetting> host_name;
  std::optional<SshSetting> user;
  std::optional<SshSetting> port;
  std::vector<SshSetting> identities;
  std::optional<SshSetting> only_identities;
  std::optional<SshSetting> agent;
  std::optional<SshSetting> jumps;
  std::optional<SshSetting> host_key_alias;
  std::vector<SshSetting> known_hosts;
  std::vector<IgnoredSetting> ignored;
};

/// The host that a user would give to ssh.
struct SshQuery {
  std::string host;
  std::string user;        ///< As given outside of the configuration; empty: not given.
  std::string local_user;  ///< For `Match user`, if no user is given.
};

/// Pure. The first value of each setting counts, of IdentityFile all. A Match block with criteria other than all, host,
/// originalhost and user is ignored as a whole.
/// Errors: kInvalidInput with the place. Source: ssh_config(5); OpenSSH 9.6, readconf.c.
Result<SshHostSettings> settings_for(const SshQuery& query, const SshConfig& config);

}  // namespace sparkplan
