#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/systemd_unit/unit_state.h"

namespace sparkplan::systemd_unit {

inline constexpr std::chrono::seconds kQueryDeadline{30};

/// I/O, read-only. What `systemctl show` and `systemctl is-enabled` say of these units, which are no
/// templates. An Error for a single one: masked, or another name of a unit.
/// Errors: of systemctl as a whole, such as a node that was not booted with systemd.
Result<std::map<std::string, Result<RunningState>>> show_units(std::span<const std::string> names,
                                                               const NodeReader& node);

}  // namespace sparkplan::systemd_unit
