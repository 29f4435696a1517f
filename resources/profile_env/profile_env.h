#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/resource/resource_type.h"

/// Environment variables of login shells: `profile_env: {NAME: value}`. Everything in this header is pure.
namespace sparkplan::profile_env {

inline constexpr std::string_view kOwnFile = "/etc/profile.d/sparkplan-env.sh";

/// Our whole file with its header; parse_shell_assignments() returns every variable of it. Names and values must have
/// passed is_variable_name() and variable_value().
std::string render_file(const std::map<std::string, std::string>& variables);

/// Pure. Reports invalid, refused and risky names, names of NCCL, and values that our file cannot contain.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::profile_env
