#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// The properties of a login on a node.
namespace sparkplan::limits {

/// Soft and hard, as /proc/PID/limits shows them: "8388608", "unlimited".
struct ShownLimit {
  std::string soft;
  std::string hard;
};

/// "Max locked memory" -> its limits. Other lines, such as a greeting of the user's own profile, are left out.
std::map<std::string, ShownLimit> parse_proc_limits(std::string_view text);

/// A name that is safe as an argument of a program: letters, digits, "_", "-" and ".", the last two not first. Groups
/// and ranges of users are not such names.
bool is_user_name(std::string_view text);

/// The first user of `passwd` with a uid from 1000 to 60000, a shell and a home.
/// Source: /etc/login.defs, UID_MIN and UID_MAX.
std::optional<std::string> first_ordinary_user(std::string_view passwd, const NodeReader& node);

/// The limits of a new login of `user` through su(1). Like sshd's logins it goes through a PAM service with its own
/// session, and it needs no password.
/// Errors: kFailed if the user cannot log in; kNotFound if the user has no home, because a login might make it; as
/// NodeReader::query().
Result<std::map<std::string, ShownLimit>> limits_of_login(const std::string& user, const NodeReader& node);

/// True if pam_limits sets the limits of processes that su(1) starts, or if that is unknown.
bool su_uses_pam_limits(const NodeReader& node);

/// The reason why a login over ssh gets no limits from pam_limits. Nothing if it gets them, if there is no sshd, or if
/// that is unknown.
std::optional<std::string> why_sshd_sets_no_limits(const NodeReader& node);

/// False if no process of this machine may raise a hard limit, as in most containers.
bool may_raise_hard_limits(const NodeReader& node);

/// No login starts later; also getent's deadline.
inline constexpr std::chrono::seconds kLongestLook{30};

/// I/O, read-only. Logs in once per user with limits of their own, and once for "*" as the first ordinary user. Reports
/// every limit that such a login does not get, with the reason. Also reports limits that sshd sets for no login.
/// Groups, and items without a soft and hard value, are not tested. Users whose login would begin after `longest_look`
/// are reported as not checked.
std::vector<Ineffective> limits_not_effective(const ValuesByName& desired, const NodeReader& node,
                                              std::chrono::milliseconds longest_look = kLongestLook);

}  // namespace sparkplan::limits
