#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/systemd_unit/unit_value.h"

namespace sparkplan::systemd_unit {

/// I/O. Makes the unit match `wanted`: first its files, then its links, then systemd's view of them, then its process.
/// A unit that loses its file is stopped and disabled before. If a changed file needs a restart, the restart is
/// recorded before the file is written; the record is removed after the restart. Units are neither masked nor unmasked.
/// Errors: kFailed with the unit's last messages if it does not start or stay up; kVerifyFailed if systemd or the files
/// differ afterwards; those of Node and watch_start().
Result<void> make_unit(const std::string& name, const WantedUnit& wanted, Node& node);

/// I/O, read-only. Waits until the unit is up; a service must also stay up for half a second without a restart. A
/// oneshot may have ended with success, and a unit with a false condition need not run. Returns state::kStarted,
/// kFinished or kSkipped.
/// Errors: kFailed with the last lines of the unit's journal; kUnreachable if the unit is still starting after 30
/// seconds.
Result<std::string> watch_start(const std::string& name, const NodeReader& node);

/// `error` with the last messages of the unit, for a reader who is not on the node.
Error with_last_messages(const std::string& name, Error error, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
