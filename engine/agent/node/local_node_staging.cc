// LocalNode: files on trial are at their volatile twins.
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/file_io.h"
#include "engine/agent/node/local_node.h"

namespace sparkplan {

namespace fs = std::filesystem;

void LocalNode::stage(StagedFile file) {
  std::erase_if(staged_, [&](const StagedFile& other) { return other.path == file.path; });
  staged_.push_back(std::move(file));
}

const StagedFile* LocalNode::staged(const fs::path& path) const {
  const auto found =
      std::find_if(staged_.begin(), staged_.end(), [&](const StagedFile& file) { return file.path == path; });
  return found == staged_.end() ? nullptr : &*found;
}

bool LocalNode::twin_exists(const StagedFile& file) const { return status_in_place(file.twin).has_value(); }

bool LocalNode::twin_says_absent(const StagedFile& file) const {
  const auto text = read_in_place(file.twin, file.absent_content.size());
  return text && *text == file.absent_content;
}

Result<fs::path> LocalNode::place_of(const fs::path& path) const {
  const StagedFile* file = staged(path);
  if (file == nullptr || !twin_exists(*file)) return path;
  if (twin_says_absent(*file)) return failure(ErrorCode::kNotFound, path.string() + " is to be removed");
  return file->twin;
}

/// Twins are not listed as foreign files; their content is listed at the path that they override.
void LocalNode::show_as_staged(const fs::path& directory, std::vector<std::string>& names) const {
  for (const StagedFile& file : staged_) {
    if (!twin_exists(file)) continue;
    const auto name = file.path.filename().string();
    if (directory == file.twin.parent_path() || directory == file.path.parent_path()) std::erase(names, name);
    if (directory == file.path.parent_path() && !twin_says_absent(file)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
}

Result<void> LocalNode::write_file(const fs::path& path, const FileContent& content) {
  const StagedFile* file = staged(path);
  return write_in_place(file == nullptr ? path : file->twin, content);
}

Result<void> LocalNode::remove_file(const fs::path& path) {
  const StagedFile* file = staged(path);
  if (file == nullptr) return remove_in_place(path);
  if (!status_in_place(path)) return remove_in_place(file->twin);
  return write_in_place(file->twin, private_file(file->absent_content));
}

Result<void> LocalNode::check_replaceable(const fs::path& path, const std::string& bytes) {
  const auto opened = open_descriptor(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!opened && opened.error().code != ErrorCode::kNotFound) return failure(opened.error());
  const fs::path trial = path.parent_path() / trial_name(path.filename().string());
  SPARK_CHECK(write_in_place(trial, private_file(bytes)));
  return remove_in_place(trial);
}

Result<std::string> LocalNode::read_file(const fs::path& path, std::size_t max_bytes) const {
  SPARK_TRY(const fs::path place, place_of(path));
  return read_in_place(place, max_bytes);
}

Result<FileStatus> LocalNode::status(const fs::path& path) const {
  SPARK_TRY(const fs::path place, place_of(path));
  return status_in_place(place);
}

}  // namespace sparkplan
