#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/node/node.h"

/// Users who could put a symbolic link where root expects a directory or a file.
namespace sparkplan {

/// A user beside root who may write wherever root writes, such as the one who is root through sudo.
struct TrustedUser {
  std::uint32_t uid = 0;
  std::optional<std::uint32_t> group = std::nullopt;  ///< A group of this user alone.
};

/// A user, or several, who can replace an entry of a directory.
struct DirectoryWriter {
  enum class Kind : std::uint8_t { kOwner, kAllUsers, kGroup, kAcl };
  Kind kind = Kind::kOwner;
  std::uint32_t id = 0;    ///< Of the owner or the group.
  std::string named = {};  ///< With kAcl: "user ID 1001".
};

/// Pure. The first user beside root and `trusted` who can replace an entry that belongs to root. In a directory with
/// the sticky bit that is only its owner.
std::optional<DirectoryWriter> writer_of(const FileStatus& directory, const TrustedUser& trusted = {});

/// Pure. As writer_of(), but for making an entry that is missing: the sticky bit does not prevent that.
std::optional<DirectoryWriter> maker_in(const FileStatus& directory, const TrustedUser& trusted = {});

}  // namespace sparkplan
