#pragma once

#include <optional>
#include <string>

namespace sparkplan {

/// The user who runs this program, from the password database.
struct OwnUser {
  std::string name;
  std::string home;
};

/// Nothing if the database has no such user. Thread-safe. Source: getpwuid_r(3).
std::optional<OwnUser> own_user();

}  // namespace sparkplan
