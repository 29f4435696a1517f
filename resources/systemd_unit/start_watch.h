#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::systemd_unit {

/// I/O, read-only. Looks again and again until the unit is up and, for a service, has stayed up for
/// half a second without another start; a oneshot may be over with success, and a unit whose
/// condition does not hold need not run. Gives state::kStarted, kFinished or kSkipped.
/// Errors: kFailed with the last lines of the unit's journal.
Result<std::string> watch_start(const std::string& name, const NodeReader& node);

/// `error` together with what the unit said last, for a reader who is not on the node.
Error with_last_messages(const std::string& name, Error error, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
