#pragma once

#include <cstddef>
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

/// What one value counts for in JsonLimits: a map entry takes that much, a list item two thirds of it.
inline constexpr std::size_t kJsonValueWeight = 136;

/// What reading a text may cost. `[[],[],...]` takes thirty times its own size.
struct JsonLimits {
  std::size_t memory = std::size_t{32} << 20;  ///< Bytes: the text and kJsonValueWeight for each value in it.
};

/// The inverse of encode_json(). What is over the limits is refused before anything is built of it; the time is that
/// of sorting the keys of the largest map.
/// Errors: kInvalidInput for text that is no JSON, nests deeper than 64 levels, repeats a key, holds
/// an integer outside int64 (never rounded to a double), a number outside double or longer than 1000 characters, a key
/// or map beginning with "$" that encode_json() does not write, or more values than `limits` allow.
Result<Value> decode_json(std::string_view text, const JsonLimits& limits = {});

/// What the values of its encoding count for in JsonLimits, without their text.
std::size_t json_weight(const Value& value);

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
