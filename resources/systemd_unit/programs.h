#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

/// The programs that units start.
namespace sparkplan::systemd_unit {

/// Pure. The programs without which the unit cannot start, as absolute paths or as names: of ExecCondition=,
/// ExecStartPre=, ExecStart= and ExecStartPost=. Left out are those whose failure is ignored ("-"), those with
/// specifiers or variables, and all of a unit with its own root directory. Source: systemd.service(5), "COMMAND LINES".
std::set<std::string> programs_needed(std::string_view unit_text);

/// I/O, read-only. The units of `ahead` with a program that is not there, or is not executable.
std::vector<Ineffective> units_without_program(const ChangesAhead& ahead, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
