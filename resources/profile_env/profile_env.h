#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/secret_place.h"

/// Environment variables of login shells: `profile_env: {NAME: value}`. Everything in this header is pure.
namespace sparkplan::profile_env {

inline constexpr std::string_view kOwnFile = "/etc/profile.d/sparkplan-env.sh";

/// Our whole file with its header; parse_shell_assignments() returns every variable of it. Names and values must have
/// passed is_variable_name() and variable_value(). A text above kLargestTextFile ends one byte behind it.
std::string render_file(const std::map<std::string, std::string>& variables);

/// Pure. Reports invalid, refused and risky names, names of NCCL, and values that our file cannot contain.
std::vector<Diagnostic> validate_section(const Value& section);

/// Variables with a secret have one file per user and variable here. A line of our script reads it in a login shell of
/// that user.
inline constexpr std::string_view kSecretDirectory = kSecretVariables;

/// The field of a resource with the token of each user's file, by the user's name.
inline constexpr const char* kSecretField = "secret";

/// Pure. The line of our script for one user. Only that user's login shell runs its second half.
std::string secret_line(const std::string& user, const std::string& variable);

/// Pure. User and variable of a line that secret_line() has made; nothing for any other line.
std::optional<std::pair<std::string, std::string>> parse_secret_line(std::string_view line);

}  // namespace sparkplan::profile_env
