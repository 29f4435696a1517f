#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/config/ssh_way.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// A key that known_hosts has for a host.
struct KnownHostKey {
  std::string fingerprint;  ///< "SHA256:..."
  std::string type;         ///< "ssh-ed25519"
  std::string file;
  std::size_t line = 0;  ///< From 1.

  bool operator==(const KnownHostKey&) const = default;
};

/// A host key from a node, before the user decides whether to trust it.
struct OfferedHostKey {
  std::string fingerprint;       ///< "SHA256:..."
  std::string type;              ///< "ssh-ed25519"
  std::string known_hosts_line;  ///< The corresponding line of known_hosts.
  enum class Standing : std::uint8_t { kKnown, kUnknown, kChanged, kRevoked, kPinned, kPinMismatch } standing;
  std::vector<KnownHostKey> known = {};  ///< The entries of known_hosts for the host.
  std::string file = {};                 ///< Where a new key is recorded; empty: nowhere.
};

/// Reads the host key of a station of the way without logging in there. The stations before it have to be trusted, and
/// accept our keys. Errors: those of connect_ssh().
Result<OfferedHostKey> offered_host_key(const SshWay& way, std::size_t station, const ConnectOptions& options);

/// As above, for the node itself. Errors: also those of way_to().
Result<OfferedHostKey> offered_host_key(const NodeSpec& node, const ConnectOptions& options);

/// Appends the key to its file (made 0600 in a 0700 directory when missing), and returns the file.
/// Errors: kFailed, kPermissionDenied, kInvalidInput without a file to record it in.
Result<std::string> remember_host_key(const OfferedHostKey& key);

/// The keys of `station` in its known_hosts files and the system's. `name` is SshStation::known_name().
/// Errors: kUntrusted for a file that cannot be read: it proves no identity.
Result<std::vector<KnownHostKey>> known_host_keys(const SshStation& station);

/// "ssh-keygen -R '[10.0.0.11]:2222'", with -f for a file other than ~/.ssh/known_hosts.
std::string command_to_forget(const OfferedHostKey& key, const SshStation& station);

/// Pure. True when a line of a known_hosts file marks `key_base64` as revoked ("@revoked"), for any host pattern:
/// libssh skips such lines without a message.
bool is_revoked(std::string_view known_hosts, std::string_view key_base64);

}  // namespace sparkplan
