#pragma once

#include <sys/types.h>

#include <string>

#include "engine/core/result.h"

/// Accounts from /etc/passwd and /etc/group. A static program cannot ask other services.
namespace sparkplan::copy {

struct Account {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
  std::string home;
};

/// Errors: kNotFound.
Result<Account> account_named(const std::string& name);
Result<gid_t> group_named(const std::string& name);
/// The name; "#1000" for a number without one. Both functions above accept that form.
std::string user_name(uid_t user);
std::string group_name(gid_t group);

/// From now on the whole process works as that user, with that user's groups, for good.
/// Errors: kPermissionDenied (this process is not root), kFailed.
Result<void> become(const Account& account);

}  // namespace sparkplan::copy
