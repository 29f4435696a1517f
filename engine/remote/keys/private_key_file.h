#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// The part of a private key file that is readable without its passphrase.
struct PrivateKeyForm {
  bool encrypted = false;
  std::string type;        ///< "ssh-ed25519"; empty if the file does not show the public key.
  std::string public_key;  ///< In base64; empty as `type`.
};

/// Pure. A text that is no private key is one that is not encrypted: the library that imports it reports it.
/// Source: OpenSSH, PROTOCOL.key; RFC 1421, RFC 5958.
PrivateKeyForm form_of_private_key(std::string_view text);

/// A private key file, at most 64 KiB. Errors: kNotFound, kPermissionDenied, kUnsupported (no regular file), kFailed.
Result<std::string> read_private_key(const std::string& path);

}  // namespace sparkplan
