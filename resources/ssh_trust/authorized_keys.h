#pragma once

#include <string_view>

#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "resources/ssh_trust/account.h"

namespace sparkplan::ssh_trust {

/// Field that replaces `content` if the block has over 1 MiB or 4096 lines, control characters, or invalid UTF-8: a
/// one-line summary. The user can put anything there.
inline constexpr std::string_view kNotListed = "not_listed";

/// Our block of a user's authorized_keys: Present with {content} or {not_listed}, or Absent. The file may have up to
/// kLargestFileWithBlock bytes. Errors: kInvalidInput for a damaged block; as NodeReader::read_user_file().
Observation read_authorized_keys(const Account& account, const NodeReader& node);

/// Makes the block equal to `after`. The rest of the file, its mode and its owner stay. A new file belongs to the user,
/// with mode 0600; a file that becomes empty is removed. If `after` has {not_listed}, its content is unknown and the
/// block is removed. Removing lines is never refused for the file's size. Errors: as read_authorized_keys() and
/// Node::write_user_file().
Result<void> apply_authorized_keys(const Account& account, const Observation& after, Node& node);

}  // namespace sparkplan::ssh_trust
