#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Value -> JSON text of the wire, the journal and the manifest: lossless. A string that is no
/// UTF-8 becomes {"$base64": "..."} (as a key "$base64:..."), an Unknown {"$unknown": {...}}, an
/// infinity or NaN {"$real": "inf"}, and a key that begins with "$" gets one more. What a terminal
/// obeys or hides (control characters and is_treacherous()) is escaped: people read these files. `indent` < 0
/// means one line.
std::string encode_json(const Value& value, int indent = -1);

/// The inverse of encode_json().
/// Errors: kInvalidInput for text that is no JSON, nests deeper than 64 levels, repeats a key, holds
/// an integer outside int64 (never rounded to a double), a number outside double, or a key or map
/// beginning with "$" that encode_json() does not write.
Result<Value> decode_json(std::string_view text);

/// Value -> JSON text for other programs, as cli-and-yaml promises it: Unknown becomes
/// {"unknown": reason}; bytes that are no UTF-8 are replaced by U+FFFD, infinities and NaN by null. What a
/// terminal obeys or hides is escaped, as encode_json() does.
std::string public_json(const Value& value, int indent = 2);

/// Plain JSON text (no escapes of ours undone), for schema files and other programs' output.
/// Errors: as decode_json().
Result<Value> parse_plain_json(std::string_view text);

/// The encoding digests are taken over: encode_json() with sorted keys and no blanks, and of all characters
/// only those of ASCII escaped. Its bytes must never change: digests on nodes are taken over them.
std::string canonical_json(const Value& value);

}  // namespace sparkplan
