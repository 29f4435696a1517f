#pragma once

#include <optional>
#include <string>

namespace sparkplan {

/// Whoever runs this program, as the password database has them.
struct OwnUser {
  std::string name;
  std::string home;
};

/// Nothing where the database has no such user. For any number of threads at a time. Source: getpwuid_r(3).
std::optional<OwnUser> own_user();

}  // namespace sparkplan
