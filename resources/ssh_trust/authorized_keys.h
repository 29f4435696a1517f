#pragma once

#include <string_view>

#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "resources/ssh_trust/account.h"

namespace sparkplan::ssh_trust {

/// In place of the content, where what is between the markers is more than we ever write there, or no text: one line
/// about it. The user can put anything there.
inline constexpr std::string_view kNotListed = "not_listed";

/// Our block of a user's authorized_keys: Present with {content} or {not_listed}, or Absent. The file may have
/// kLargestFileWithBlock.
/// Errors: kInvalidInput for a damaged block; as NodeReader::read_user_file().
Observation read_authorized_keys(const Account& account, const NodeReader& node);

/// Makes the block be `after`. The rest of the file stays as it is, and so do its mode and owner; one
/// that is not there is made for the user alone, one that has become empty goes. What was not listed is not known:
/// the block goes. Taking lines away never makes a file too large.
/// Errors: as read_authorized_keys() and Node::write_user_file().
Result<void> apply_authorized_keys(const Account& account, const Observation& after, Node& node);

}  // namespace sparkplan::ssh_trust
