#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// Our marked block in a foreign file:
///   # BEGIN sparkplan (changes inside this block are overwritten)
///   ...
///   # END sparkplan
/// A line that begins with "# BEGIN sparkplan" or "# END sparkplan" is a marker. Text outside the block is never
/// changed. A newline is added only if the text before our block does not end in one.

/// The lines between the markers, each with its '\n'; nothing without a block.
/// Errors: kInvalidInput for a marker without its partner or a second block, context "line N".
Result<std::optional<std::string>> find_block(std::string_view text);

/// `text` with the block's body replaced, or with the block appended if there was none. Without `body`, the block and
/// its markers are removed.
/// Errors: as find_block(); kInvalidInput when `body` itself contains a marker.
Result<std::string> replace_block(std::string_view text, const std::optional<std::string>& body);

/// The text before our block. Programs that use the first of several lines read it before ours. Without a block it is
/// the whole text, because the block will be appended.
std::string_view text_above_block(std::string_view text);

}  // namespace sparkplan
