#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// What a login on a node is like.
namespace sparkplan::limits {

/// Soft and hard, as /proc/PID/limits shows them: "8388608", "unlimited".
struct ShownLimit {
  std::string soft;
  std::string hard;
};

/// "Max locked memory" -> its limits. Other lines, such as a greeting of the user's own profile, are
/// left out.
std::map<std::string, ShownLimit> parse_proc_limits(std::string_view text);

/// A name that a program may get as an argument: letters, digits, "_", "-" and ".", none of the
/// last two first. Groups and ranges of users are no such names.
bool is_user_name(std::string_view text);

/// The first user of `passwd` that is no system account and has a shell and a home.
/// Source: /etc/login.defs, UID_MIN and UID_MAX.
std::optional<std::string> first_ordinary_user(std::string_view passwd, const NodeReader& node);

/// What a new login of `user` may use, of one that su(1) makes: it goes through a PAM service with a
/// session of its own, as sshd's does, and needs no password.
/// Errors: kFailed when he cannot log in, kNotFound when he has no home, which a login might make;
/// as query().
Result<std::map<std::string, ShownLimit>> limits_of_login(const std::string& user, const NodeReader& node);

/// The groups of a user; none when that cannot be known.
std::set<std::string> groups_of(const std::string& user, const NodeReader& node);

/// Whether what su(1) starts gets its limits from pam_limits. True also when that cannot be known.
bool su_uses_pam_limits(const NodeReader& node);

/// Why a login over ssh gets none of the limits that pam_limits sets. Nothing when it gets them, when
/// there is no sshd, and when that cannot be known.
std::optional<std::string> why_sshd_sets_no_limits(const NodeReader& node);

/// False when no process of this machine may raise a hard limit, as in most containers.
bool may_raise_hard_limits(const NodeReader& node);

}  // namespace sparkplan::limits
