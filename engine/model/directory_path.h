#pragma once

#include <string>
#include <string_view>

/// Directories as the file names them. Links are not resolved. Everything here is pure.
namespace sparkplan {

/// The parts of an absolute path that count, each followed by a slash: "/a//b/." is "/a/b/".
std::string plain_path(std::string_view path);

/// True if the two are one directory, or one contains the other. Both are plain_path().
bool nested_or_same(std::string_view one, std::string_view other);

}  // namespace sparkplan
