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

/// $HOME, else the home in the password database, else "/".
std::string own_home();
/// The "~" of "~" and "~/x" is replaced by own_home().
std::string expand_home(const std::string& path);

}  // namespace sparkplan
