#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/model/secret_place.h"

/// Variables with a secret: one file per user and variable, and a line of our script that reads it in a login shell of
/// that user.
namespace sparkplan::profile_env {

inline constexpr std::string_view kSecretDirectory = kSecretVariables;

/// The field of a resource with the token of each user's file, by the user's name.
inline constexpr const char* kSecretField = "secret";

/// "/etc/sparkplan/secrets/nvidia/HF_TOKEN"
std::string secret_path(std::string_view user, std::string_view variable);

/// Pure. The line of our script for one user. Only that user's login shell runs its second half.
std::string secret_line(const std::string& user, const std::string& variable);

/// Pure. User and variable of a line that secret_line() has made; nothing for any other line.
std::optional<std::pair<std::string, std::string>> parse_secret_line(std::string_view line);

}  // namespace sparkplan::profile_env
