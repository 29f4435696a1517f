#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// Accounts in the node's own files. Reading them saves a start of getent(1), which would read the same lines.
namespace sparkplan {

/// The content of /etc/passwd. Nothing if glibc asks another service first, if the file cannot be read, or if the node
/// is not live(): then only getent(1) knows.
/// Source: nsswitch.conf(5), passwd(5).
std::optional<std::string> passwd_file(const NodeReader& node);

/// The line of `user` in passwd_file(). Nothing also if the file has no such line: another service may know the user.
std::optional<std::string> passwd_line(const std::string& user, const NodeReader& node);

/// The line of `key`, a name or a number, in the database "passwd" or "group"; nothing if no name service has it.
/// Errors: kFailed, also without getent(1).
Result<std::optional<std::string>> getent_line(const std::string& database, const std::string& key,
                                               const NodeReader& node);

/// How a user and a group of a node belong together.
struct GroupMembership {
  bool user_exists = false;
  bool group_exists = false;
  bool member = false;  ///< Also if it is the user's primary group.
};
/// Reads the node's own files, and asks getent(1) for what they lack. Errors: as getent_line().
Result<GroupMembership> membership_of(const std::string& user, const std::string& group, const NodeReader& node);

/// The name of a user; empty if no name service has the number.
std::string user_name(std::uint32_t uid, const NodeReader& node);

/// The primary group of a user, as Ubuntu makes one for each. Nothing if another user is in that group, or if the
/// node's files and getent(1) do not show its members.
std::optional<std::uint32_t> own_group_of(std::uint32_t uid, const NodeReader& node);

/// The names of a user's groups; none if they are unknown.
std::vector<std::string> groups_of(const std::string& user, const NodeReader& node);

/// The number of a name in the database "passwd" or "group"; nothing for an unknown name. getent runs only for names
/// that the node's own files do not have.
/// Errors: as NodeReader::read_file() and query(); kFailed for an unexpected exit status of getent.
Result<std::optional<std::int64_t>> account_number(const std::string& database, const std::string& name,
                                                   const NodeReader& node);

}  // namespace sparkplan
