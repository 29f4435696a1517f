#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// "30" for "0".
std::string hexadecimal(std::string_view bytes);

/// SHA-256 as 64 lower-case hexadecimal digits. Source: FIPS 180-4.
std::string sha256(std::string_view bytes);
/// True for a text that sha256() can have returned.
bool is_sha256(std::string_view text);

/// Equal for equal values, in any order of map keys (see canonical_json()).
std::string digest(const Value& value);

/// RFC 4648 base64 with padding.
std::string base64_encode(std::string_view bytes);
/// Empty for a text that base64_encode() never writes.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace sparkplan
