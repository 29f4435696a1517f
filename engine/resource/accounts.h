#pragma once

#include <optional>
#include <string>

#include "engine/node/node.h"

/// Accounts in the node's own files. Reading them saves a start of getent(1), which would read the same lines.
namespace sparkplan {

/// The content of /etc/passwd. Nothing if glibc asks another service first, if the file cannot be read, or if the node
/// is not live(): then only getent(1) knows.
/// Source: nsswitch.conf(5), passwd(5).
std::optional<std::string> passwd_file(const NodeReader& node);

/// The line of `user` in passwd_file(). Nothing also if the file has no such line: another service may know the user.
std::optional<std::string> passwd_line(const std::string& user, const NodeReader& node);

}  // namespace sparkplan
