#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace sparkplan::test {

/// A new directory, removed with its contents at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    auto name = (std::filesystem::temp_directory_path() / "sparkplan-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  /// The path on this machine for the node's path ("/etc/hosts").
  std::filesystem::path operator/(const std::filesystem::path& inside) const { return path_ / inside.relative_path(); }

  bool exists(const std::string& inside) const {
    return std::filesystem::exists(std::filesystem::symlink_status(*this / inside));
  }
  /// Empty text if the file is missing.
  std::string read(const std::string& inside) const {
    std::ifstream file(*this / inside, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& inside, const std::string& text) const {
    std::filesystem::create_directories((*this / inside).parent_path());
    std::ofstream file(*this / inside, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + inside);
  }
  void make_directory(const std::string& inside) const { std::filesystem::create_directories(*this / inside); }
  void make_link(const std::string& inside, const std::string& target) const {
    std::filesystem::create_directories((*this / inside).parent_path());
    std::filesystem::create_symlink(target, *this / inside);
  }
  void remove(const std::string& inside) const { std::filesystem::remove_all(*this / inside); }
  unsigned mode(const std::string& inside) const {
    struct stat status {};
    if (::lstat((*this / inside).c_str(), &status) != 0) throw std::runtime_error("there is no " + inside);
    return status.st_mode & 07777U;
  }

  /// Every file and link below, with its mode and content or target; `but` and its subtree are left out. Directories
  /// appear only as part of the paths.
  std::map<std::string, std::string> tree(const std::string& but = "") const {
    std::map<std::string, std::string> found;
    const auto left_out = but.empty() ? std::filesystem::path() : *this / but;
    for (auto entry = std::filesystem::recursive_directory_iterator(path_); entry != std::filesystem::end(entry);
         ++entry) {
      if (entry->path() == left_out) {
        entry.disable_recursion_pending();
        continue;
      }
      const auto inside = "/" + std::filesystem::relative(entry->path(), path_).string();
      if (entry->is_symlink()) {
        found[inside] = "-> " + std::filesystem::read_symlink(entry->path()).string();
      } else if (entry->is_regular_file()) {
        found[inside] = std::to_string(mode(inside)) + " " + read(inside);
      }
    }
    return found;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sparkplan::test
