#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// How long the parts of an error from another machine may be, in bytes.
inline constexpr std::size_t kLongestErrorMessage = 4096;
inline constexpr std::size_t kLongestErrorHint = 1024;
inline constexpr std::size_t kLongestErrorContext = 256;  ///< Of one level.
inline constexpr std::size_t kMostErrorContext = 16;
/// A name, a path, who holds a lock: what is shown on one line.
inline constexpr std::size_t kLongestShortText = 300;

/// The text, or as much of its beginning as fits into `most` bytes together with " ...". UTF-8 is not cut in the middle
/// of a character.
std::string cut_text(std::string text, std::size_t most);

/// The text on one line, safe for a terminal, at most `most` bytes: for the words of a peer that nobody vouches for.
std::string shown_text(std::string_view text, std::size_t most = kLongestShortText);

/// The error with all of its texts cut to the lengths above.
Error bounded(Error error);

}  // namespace sparkplan
