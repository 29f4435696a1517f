#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

// OpenSSH's key formats, as far as trust between nodes needs them. All of it is pure. What is read
// here may come from a node that somebody has taken over, so nothing but a key gets through.

namespace sparkplan::ssh_trust {

/// "TYPE BASE64" of a line of a .pub file, its comment left out; nothing when it is no public key:
/// a type that the blob itself does not confirm, or a character that no key has.
/// Source: RFC 4253, 6.6; sshd(8), AUTHORIZED_KEYS FILE FORMAT.
std::optional<std::string> parse_public_key(std::string_view line);

/// True for exactly what parse_public_key() gives of a line.
bool is_public_key(std::string_view text);

/// The words behind type and key; empty when there are none.
std::string comment_of(std::string_view public_key_line);

/// True for exactly "ssh-ed25519 BASE64" with a key of 32 bytes.
bool is_ed25519_public_key(std::string_view text);

/// The public part that a private key file carries in clear: "ssh-ed25519 BASE64".
/// Errors: kRefused for a key with a passphrase, of another type, or for no OpenSSH private key.
/// Source: PROTOCOL.key of OpenSSH.
Result<std::string> public_part(std::string_view private_key_file);

}  // namespace sparkplan::ssh_trust
