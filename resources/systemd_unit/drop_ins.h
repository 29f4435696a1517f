#pragma once

#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/systemd_unit/unit_state.h"

namespace sparkplan::systemd_unit {

/// A foreign setting that overrides our unit file or drop-in.
struct Override {
  bool of_content = false;  ///< It overrides our unit file; false: our drop-in.
  std::string value;        ///< "LimitMEMLOCK=8M"; the path of a whole file.
  std::string source;       ///< "/etc/systemd/system/a.service.d/99-local.conf:2"
  std::string message;
};

/// I/O, read-only. The first file that systemd reads instead of our file, or later and with another setting. Nothing
/// until systemd has read all changed files.
/// Errors: such a file that cannot be read.
Result<std::optional<Override>> override_of(const std::string& name, const UnitState& unit, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
