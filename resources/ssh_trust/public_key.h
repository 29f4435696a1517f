#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

// OpenSSH's key formats, as far as trust between nodes needs them. Everything here is pure. The input may come from a
// compromised node, so only valid keys pass.

namespace sparkplan::ssh_trust {

/// "TYPE BASE64" of a line of a .pub file, without its comment. Nothing if it is no public key: the blob contains
/// another type, or the text has invalid characters. Source: RFC 4253, 6.6; sshd(8), AUTHORIZED_KEYS FILE FORMAT.
std::optional<std::string> parse_public_key(std::string_view line);

/// True if parse_public_key() accepts the text and returns it unchanged.
bool is_public_key(std::string_view text);

/// The words after type and key; empty without a comment.
std::string comment_of(std::string_view public_key_line);

/// True for exactly "ssh-ed25519 BASE64" with a key of 32 bytes.
bool is_ed25519_public_key(std::string_view text);

/// The public part that a private key file contains unencrypted: "ssh-ed25519 BASE64". Errors: kRefused for a key with
/// a passphrase, of another type, or for no OpenSSH private key. Source: PROTOCOL.key of OpenSSH.
Result<std::string> public_part(std::string_view private_key_file);

}  // namespace sparkplan::ssh_trust
