#pragma once

#include <libssh/libssh.h>

#include <string>

#include "engine/core/result.h"
#include "engine/remote/ssh/host_keys.h"

namespace sparkplan::ssh {

/// "SHA256:..."; empty if it cannot be computed.
std::string fingerprint_of(ssh_key key);

/// True when a known_hosts file of the station, or of the system, marks the key as revoked, for any host.
/// Errors: as known_host_keys().
Result<bool> is_revoked_for(const SshStation& station, const std::string& key_base64);

}  // namespace sparkplan::ssh
