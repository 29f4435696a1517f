#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sparkplan {

/// Reads `acl`, the value of the extended attribute system.posix_acl_access. Returns the first one whom it lets write,
/// beside root, the user `owner` and the group root: "user ID 1001", "group ID 1001". Empty: no one. The mask applies.
/// Text that is no such value may hide anyone: "an unknown user, because its ACL cannot be read". Source: Linux,
/// include/uapi/linux/posix_acl_xattr.h.
std::string acl_writer_in(std::string_view acl, std::uint32_t owner);

/// As acl_writer_in(), for an open file or directory, also with O_PATH. Empty also where the file system has no ACLs.
std::string acl_writer_of(int file, std::uint32_t owner);

}  // namespace sparkplan
