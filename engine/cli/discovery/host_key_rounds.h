#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/config/ssh_way.h"
#include "engine/remote/ssh/host_keys.h"

namespace sparkplan {

/// A host key that known_hosts lacks.
struct UnknownHostKey {
  SshStation station;  ///< A machine or a jump host.
  OfferedHostKey key;

  /// "10.0.0.11", "jump host gate (10.0.0.1)"
  std::string subject() const;
};

/// The steps that settle_in_rounds() calls: it reads, asks and stores nothing itself.
struct HostKeySteps {
  /// As offered_host_key(). Called on several threads.
  std::function<Result<OfferedHostKey>(const SshWay& way, std::size_t station)> offered;
  /// Does the user trust these keys? Never called without a key.
  std::function<bool(const std::vector<UnknownHostKey>& keys)> confirm;
  std::function<Result<void>(const OfferedHostKey& key)> record;
};

/// Records the unknown host keys of all stations of `ways` that the user confirms. A station behind a jump host shows
/// its key only after the key of the jump host is known. So each round asks once for all keys that are in sight, and
/// the next one for those behind them. A way ends at a station that does not show a key, or shows one that is changed
/// or revoked: the connection that follows reports it. False if the user does not confirm.
/// Errors: those of `record`.
Result<bool> settle_in_rounds(const std::vector<SshWay>& ways, std::size_t workers, const HostKeySteps& steps);

}  // namespace sparkplan
