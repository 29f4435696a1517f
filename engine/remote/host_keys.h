#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// A host key from a node, before the user decides whether to trust it.
struct OfferedHostKey {
  std::string fingerprint;       ///< "SHA256:..."
  std::string type;              ///< "ssh-ed25519"
  std::string known_hosts_line;  ///< The corresponding line of ~/.ssh/known_hosts.
  enum class Standing : std::uint8_t { kKnown, kUnknown, kChanged, kRevoked, kPinned, kPinMismatch } standing;
};

/// Reads a node's host key without logging in. Errors: kUnreachable.
Result<OfferedHostKey> offered_host_key(const NodeSpec& node, std::chrono::milliseconds timeout);

/// Appends the key to ~/.ssh/known_hosts (made 0600 in a 0700 directory when missing).
/// Errors: kFailed, kPermissionDenied.
Result<std::string> remember_host_key(const OfferedHostKey& key);

/// Pure. True when a line of a known_hosts file marks `key_base64` as revoked ("@revoked"), for any host pattern:
/// libssh skips such lines without a message.
bool is_revoked(std::string_view known_hosts, std::string_view key_base64);

}  // namespace sparkplan
