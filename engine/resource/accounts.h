#pragma once

#include <optional>
#include <string>

#include "engine/node/node.h"

/// The node's accounts as far as its own files know them: getent(1) would start a program to read the same lines.
namespace sparkplan {

/// /etc/passwd; nothing where glibc asks somebody else first, or it cannot be read: then it takes getent to know.
/// Source: nsswitch.conf(5), passwd(5).
std::optional<std::string> passwd_file(const NodeReader& node);

/// The line of `user` in it; nothing also where it has none: others may know of him.
std::optional<std::string> passwd_line(const std::string& user, const NodeReader& node);

}  // namespace sparkplan
