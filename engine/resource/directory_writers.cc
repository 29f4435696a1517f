#include "engine/resource/directory_writers.h"

namespace sparkplan {
namespace {

constexpr std::uint32_t kGroupWrites = 0020;
constexpr std::uint32_t kAllWrite = 0002;
constexpr std::uint32_t kOwnersReplace = 01000;  ///< The sticky bit.

}  // namespace

std::optional<DirectoryWriter> writer_of(const FileStatus& directory, const TrustedUser& trusted) {
  using Kind = DirectoryWriter::Kind;
  if (directory.uid != 0 && directory.uid != trusted.uid) return DirectoryWriter{Kind::kOwner, directory.uid};
  if ((directory.mode & kOwnersReplace) != 0) return std::nullopt;
  if ((directory.mode & kAllWrite) != 0) return DirectoryWriter{Kind::kAllUsers};
  const bool of_trusted = directory.gid == 0 || directory.gid == trusted.group;
  if ((directory.mode & kGroupWrites) != 0 && !of_trusted) return DirectoryWriter{Kind::kGroup, directory.gid};
  if (!directory.acl_writer.empty()) return DirectoryWriter{Kind::kAcl, 0, directory.acl_writer};
  return std::nullopt;
}

std::optional<DirectoryWriter> maker_in(const FileStatus& directory, const TrustedUser& trusted) {
  FileStatus without_sticky_bit = directory;
  without_sticky_bit.mode &= ~kOwnersReplace;
  return writer_of(without_sticky_bit, trusted);
}

}  // namespace sparkplan
