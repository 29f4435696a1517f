#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Value -> JSON text of the wire, the journal and the manifest: lossless. A string that is not UTF-8 becomes
/// {"$base64": "..."} (as a key "$base64:..."). An Unknown becomes {"$unknown": {...}}, an infinity or NaN {"$real":
/// "inf"}. A key that begins with "$" is prefixed with a second "$". Control characters and is_treacherous() characters
/// are escaped: people read these files. `indent` < 0 means one line.
std::string encode_json(const Value& value, int indent = -1);

/// Receives a text in pieces. No piece ends within a character.
using TextSink = std::function<void(std::string_view piece)>;
/// As encode_json(), without holding the whole text: a node can report megabytes of characters that are escaped.
void encode_json(const Value& value, int indent, const TextSink& sink);
/// As encode_json() in pieces, and decode_json() reads it. A text that would take more than twice its bytes becomes
/// {"$base64": "..."}: otherwise a node could have a reader hold six times what it has reported.
void encode_short_json(const Value& value, int indent, const TextSink& sink);

/// The cost of one value in JsonLimits. A map entry costs this much, a list item two thirds of it.
inline constexpr std::size_t kJsonValueWeight = 136;

/// The most memory that reading a text may take. `[[],[],...]` takes thirty times its own size.
struct JsonLimits {
  std::size_t memory = std::size_t{32} << 20;  ///< Bytes: the text and kJsonValueWeight for each value in it.
};

/// The inverse of encode_json(). A text over the limits is refused before any value is built. Sorting the keys of the
/// largest map determines the time.
/// Errors: kInvalidInput for: invalid JSON; nesting deeper than 64 levels; a repeated key; an integer outside int64
/// (never rounded to a double); a number outside double or longer than 1000 characters; a key or map beginning with "$"
/// that encode_json() does not write; more values than `limits` allow.
Result<Value> decode_json(std::string_view text, const JsonLimits& limits = {});

/// The cost in JsonLimits of the values in the JSON of `value`, without their text.
std::size_t json_weight(const Value& value);

/// Value -> JSON text for other programs, as documented in cli-and-yaml. Unknown becomes {"unknown": reason}. Bytes
/// that are not UTF-8 are replaced by U+FFFD, infinities and NaN by null. Control and is_treacherous() characters are
/// escaped as in encode_json().
std::string public_json(const Value& value, int indent = 2);
/// As public_json(), without holding the whole text.
void public_json(const Value& value, const TextSink& sink);

/// Parses plain JSON text, without the "$" markers of encode_json(), for schema files and other programs' output.
/// Errors: as decode_json().
Result<Value> parse_plain_json(std::string_view text);

/// The encoding that digests are taken over: encode_json() with sorted keys, without blanks, and with only ASCII
/// characters escaped. Its bytes must never change, because nodes store digests of them.
std::string canonical_json(const Value& value);
/// As canonical_json(), without holding the whole text.
void canonical_json(const Value& value, const TextSink& sink);

}  // namespace sparkplan
