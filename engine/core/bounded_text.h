#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// The longest parts of an error from another machine, in bytes.
inline constexpr std::size_t kLongestErrorMessage = 4096;
inline constexpr std::size_t kLongestErrorHint = 1024;
inline constexpr std::size_t kLongestErrorContext = 256;  ///< Of one level.
inline constexpr std::size_t kMostErrorContext = 16;
/// For texts that are printed on one line: a name, a path, the holder of a lock.
inline constexpr std::size_t kLongestShortText = 300;

/// The text, or the longest beginning of it that fits into `most` bytes together with " ...". Never cuts a UTF-8
/// character in two.
std::string cut_text(std::string text, std::size_t most);

/// The text on one line, safe for a terminal, at most `most` bytes. For unverified text from a peer.
std::string shown_text(std::string_view text, std::size_t most = kLongestShortText);

/// As shown_text(), for a value that stands in a list beside other nodes' values: in double quotes if a part of it
/// could be read as an entry of the list, or if it is a word that lists have for a missing value ("none", "unknown").
std::string listed_value(std::string_view value, std::size_t most = kLongestShortText);

/// The error with all of its texts cut to the lengths above.
Error bounded(Error error);

}  // namespace sparkplan
