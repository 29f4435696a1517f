#pragma once

#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/systemd_unit/unit_state.h"

namespace sparkplan::systemd_unit {

/// What a foreign file makes of a unit file or drop-in of ours.
struct Override {
  bool of_content = false;  ///< Else of our drop-in.
  std::string value;        ///< "LimitMEMLOCK=8M"; for a whole file its path.
  std::string source;       ///< "/etc/systemd/system/a.service.d/99-local.conf:2"
  std::string message;
};

/// I/O, read-only. The first file that systemd reads instead of ours, or after ours and against it.
/// Errors: such a file that cannot be read.
Result<std::optional<Override>> override_of(const std::string& name, const UnitState& unit, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
