#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// Our marked stretch of a file that belongs to somebody else:
///   # BEGIN sparkplan (changes inside this block are overwritten)
///   ...
///   # END sparkplan
/// A line that begins with "# BEGIN sparkplan" or "# END sparkplan" is a marker. Everything outside
/// is never changed; a newline is added only where our block has to begin on a line of its own.

/// The lines between the markers, each with its '\n'; empty optional when there is no block.
/// Errors: kInvalidInput for a marker without its partner or a second block, context "line N".
Result<std::optional<std::string>> find_block(std::string_view text);

/// `text` with the block's body replaced, or the block appended at the end when there was none.
/// An empty optional removes the block with its markers.
/// Errors: as find_block(); kInvalidInput when `body` itself contains a marker.
Result<std::string> replace_block(std::string_view text, const std::optional<std::string>& body);

/// The text in front of our block, which programs that take the first of several lines read before
/// it. Without a block that is all of it: the block will be appended.
std::string_view text_above_block(std::string_view text);

}  // namespace sparkplan
