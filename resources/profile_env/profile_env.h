#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/resource/resource_type.h"

/// Environment variables of login shells: `profile_env: {NAME: value}`. Everything in this header is
/// pure but the type itself.
namespace sparkplan::profile_env {

inline constexpr std::string_view kOwnFile = "/etc/profile.d/sparkplan-env.sh";

/// Our whole file, header included; parse_shell_assignments() gives back every variable. Names and
/// values must have passed is_variable_name() and variable_value().
std::string render_file(const std::map<std::string, std::string>& variables);

/// Pure. Names outside their grammar, names no login survives, values no file of ours can hold.
std::vector<Diagnostic> validate_section(const Value& section);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::profile_env
