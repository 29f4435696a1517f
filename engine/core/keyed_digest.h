#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

/// Keyed digests: they stand for a secret's value in plans, manifests and journals.
namespace sparkplan {

/// HMAC-SHA-256 as 64 lower-case hexadecimal digits. Source: RFC 2104, FIPS 198-1.
std::string keyed_digest(std::string_view key, std::string_view bytes);

/// The text that stands for a secret value everywhere but in its file: a prefix and keyed_digest().
std::string secret_token(std::string_view key, std::string_view value);

/// Stands for a value that this command does not read. It equals no token of a value.
inline constexpr std::string_view kUnreadSecret = "sparkplan-secret:not-read";

/// True for a text of secret_token(), and for kUnreadSecret.
bool is_secret_token(std::string_view text);

/// True if the value, or a value in it, is a text for which is_secret_token() holds.
bool holds_secret(const Value& value);

/// "(secret)", or "(secret: SOURCE)".
std::string shown_secret(std::string_view source = {});

/// The value with "(secret: SOURCE)" in place of every token: digests are never shown.
Value without_secrets(const Value& value, std::string_view source = {});

}  // namespace sparkplan
