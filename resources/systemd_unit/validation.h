#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

namespace sparkplan::systemd_unit {

/// Pure. Names that systemd does not take, texts that are no unit file, and wishes that no unit can
/// fulfil: a template that is to run, a unit without [Install] that is to be enabled.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::systemd_unit
