#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"
#include "resources/ssh_trust/account.h"

// The two files of a user's key as one artifact. Its Value is {type, owner, mode, comment}, never the key itself. If
// the public file has another key, `public_file` with its whole text replaces `comment`. If the public file has no
// public key, `public_file_is_no_public_key` replaces it, because the text may be secret. Without a public file, all
// three are missing.
namespace sparkplan::ssh_trust {

inline constexpr std::string_view kKeyType = "ed25519";
inline constexpr std::size_t kLargestKeyFile = 16384;

/// The desired state: owned by the user, mode 0600, and the public file marked with `comment`.
Observation key_in_order(const std::string& user, std::string_view comment);

/// Errors: kRefused if the file has no key of the form that we make; as NodeReader::read_user_file().
Observation read_key(const Account& account, const NodeReader& node);

/// Makes the key's files equal to `after`. An existing private key is kept, whatever it is. If it is missing,
/// ssh-keygen makes one in a directory that only root can enter. If `after` has `public_file_is_no_public_key`, a
/// public file without a public key stays, and any other is removed. Errors: as Node::write_user_file() and
/// Node::run(); kFailed with the output of ssh-keygen.
Result<void> apply_key(const Account& account, const Observation& after, Node& node);

/// The restorable part of an earlier key: everything but a public file without a public key.
Observation restorable_key(const Observation& key);

/// The key in one line: "ed25519 sparkplan:lab:spark-01", or with its faults: "ed25519, mode 0644". Empty without a
/// key.
std::string describe_key(const std::string& user, const Observation& key);

/// "ssh-ed25519 BASE64" of the existing private key; nothing without a private key. Errors: as read_key().
Result<std::optional<std::string>> public_key_of(const Account& account, const NodeReader& node);

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

inline constexpr std::string_view kKeyKind = "ssh_key";
inline constexpr std::string_view kAuthorizedKeysKind = "authorized_keys";

/// Both are named by user, "~nvidia/.ssh/authorized_keys", because a home may move.
ArtifactId key_artifact(const std::string& user);
ArtifactId authorized_keys_artifact(const std::string& user);
/// The user in such a name.
std::string user_of(const ArtifactId& artifact);

/// Pure. ResourceType::steps() of this type. Each user's files in the home are one group, and the files of all users
/// are another.
std::vector<Step> trust_steps(const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan::ssh_trust
