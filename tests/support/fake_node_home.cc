// FakeNode: paths on which no symbolic link is followed.
#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

Result<void> FakeNode::check_answers(const std::filesystem::path& path, const std::string& served_by) const {
  for (const std::string& directory : silent_) {
    const std::string real = resolve(path, false) + "/";
    if (!real.starts_with(directory + "/")) continue;
    if (served_by.empty()) return failure(ErrorCode::kBug, "an access to " + path.string() + " waits without end");
    return failure(ErrorCode::kUnreachable, path.string() + " is on " + served_by + ", which does not answer");
  }
  return {};
}

Result<void> FakeNode::check_way(const UserPath& path) const {
  SPARK_CHECK(check_answers(path.path(), path.served_by));
  std::filesystem::path at = path.home;
  const auto is_link = [&] {
    const auto found = entries_.find(at.string());
    return found != entries_.end() && found->second.kind == Kind::kSymlink;
  };
  bool link = is_link();
  for (const auto& part : path.below) {
    at /= part;
    link = link || is_link();
  }
  if (link) return failure(ErrorCode::kRefused, "a symbolic link is on the way to " + path.path().string());
  if (!path.checked) return {};
  const std::string directory = path.path().parent_path().string();
  const auto entry = entries_.find(directory);
  bool same = is_directory(directory) == path.checked->status.has_value();
  if (same && entry != entries_.end() && path.checked->status) {
    same = entry->second.file.uid == path.checked->status->uid && entry->second.file.mode == path.checked->status->mode;
  }
  if (!same) return failure(ErrorCode::kStalePlan, directory + " is not the directory that was checked");
  return {};
}

Result<std::string> FakeNode::read_user_file(const UserPath& path, std::size_t max_bytes) const {
  SPARK_CHECK(check_way(path));
  return read_file(path.path(), max_bytes);
}

Result<FileStatus> FakeNode::user_status(const UserPath& path) const {
  SPARK_CHECK(check_way(path));
  return status(path.path());
}

Result<void> FakeNode::write_user_file(const UserPath& path, const FileContent& content) {
  SPARK_CHECK(check_way(path));
  if (!is_directory(path.home.string())) return failure(ErrorCode::kNotFound, "no such file: " + path.home.string());
  return write_file(path.path(), content);
}

Result<void> FakeNode::remove_user_file(const UserPath& path) {
  SPARK_CHECK(check_way(path));
  return remove_file(path.path());
}

Result<void> FakeNode::make_empty_directory(const std::filesystem::path& path) {
  if (auto error = next_write("make", path.string())) return failure(*std::move(error));
  SPARK_CHECK(check_way({"/", path.parent_path().relative_path()}));
  // A directory that was there only because of a file in it is forgotten with the file, so it may be missing.
  if (entries_.contains(path.string())) return failure(ErrorCode::kFailed, path.string() + " exists");
  add_directory(path.string());
  return after_write();
}

Result<void> FakeNode::remove_empty_directory(const std::filesystem::path& path) {
  SPARK_CHECK(check_way({"/", path.parent_path().relative_path()}));
  return remove_directory(path);
}

}  // namespace sparkplan::test
