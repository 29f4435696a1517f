#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/systemd_unit/unit_value.h"

namespace sparkplan::systemd_unit {

/// I/O. Makes the unit be as wanted, whatever it is now: files, then systemd's own picture of them, then
/// the links that enable it, then what runs. A restart that a changed file calls for is noted before
/// the file is written and struck out after it was made. Nothing is masked or unmasked.
/// Errors: kFailed with the unit's last messages when it does not start or does not stay up,
/// kVerifyFailed when systemd shows something else afterwards, and those of Node.
Result<void> make_unit(const std::string& name, const WantedUnit& wanted, Node& node);

}  // namespace sparkplan::systemd_unit
