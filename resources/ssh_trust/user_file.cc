#include "resources/ssh_trust/user_file.h"

#include <utility>

namespace sparkplan::ssh_trust {
namespace {

/// A rename also changes the time.
bool is_same_file(const FileStatus& a, const FileStatus& b) {
  return a.device == b.device && a.inode == b.inode && a.changed_at_nanos == b.changed_at_nanos && a.uid == b.uid &&
         a.gid == b.gid && a.mode == b.mode;
}

}  // namespace

Result<std::optional<UserFile>> read_with_status(const UserPath& path, std::size_t max_bytes, const NodeReader& node) {
  SPARK_TRY(const auto before, if_there(node.user_status(path)));
  if (!before) return std::optional<UserFile>();
  SPARK_TRY(std::string bytes, node.read_user_file(path, max_bytes));
  // The home's owner could swap in another user's file, and get its text written into a file of their own.
  SPARK_TRY(const FileStatus after, node.user_status(path));
  if (!is_same_file(*before, after)) {
    return failure(ErrorCode::kStalePlan, path.path().string() + " was replaced while it was read", "plan again");
  }
  return std::optional<UserFile>(UserFile{std::move(bytes), after});
}

}  // namespace sparkplan::ssh_trust
