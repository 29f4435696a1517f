#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "resources/ssh_trust/account.h"

// The two files of a user's key as one artifact. Its Value is {type, owner, mode, comment}: that a
// key is there and how its files are, never the key itself. In place of the comment stands
// `public_file`, the whole text, when the public file is of another key, `public_file_is_no_public_key`
// when it is none at all (its text is then nobody's business), and nothing when there is no such file.

namespace sparkplan::ssh_trust {

inline constexpr std::string_view kKeyType = "ed25519";
inline constexpr std::size_t kLargestKeyFile = 16384;

/// As it is to be: ours alone, and its public file marked with `comment`.
Observation key_in_order(const std::string& user, std::string_view comment);

/// Errors: kRefused for what is no key that we could have made; as NodeReader::read_user_file().
Observation read_key(const Account& account, const NodeReader& node);

/// Makes the key's files be `after`. A private key that is there is kept, whatever it is; without one
/// ssh-keygen makes one in a directory that only root can enter. A public file that was no public key
/// stays while it is none, and is away otherwise.
/// Errors: as Node::write_user_file() and Node::run(); kFailed with what ssh-keygen said.
Result<void> apply_key(const Account& account, const Observation& after, Node& node);

/// What can be brought back of a key that was there before: all but a public file that was no public key.
Observation restorable_key(const Observation& key);

/// The key in one line: "ed25519 sparkplan:lab:spark-01", or what is wrong with it: "ed25519, mode 0644".
/// Empty without a key.
std::string describe_key(const std::string& user, const Observation& key);

/// "ssh-ed25519 BASE64" of the private key that is there; nothing when there is none. Errors: as read_key().
Result<std::optional<std::string>> public_key_of(const Account& account, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
