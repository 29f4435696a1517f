#include "engine/remote/config/ssh_config_files.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/process/own_user.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostLevels = 16;
constexpr std::size_t kLargestConfigFile = std::size_t{1} << 20;

/// A file that is being read, and those that include it.
struct Level {
  std::string name;
  dev_t device;
  ino_t inode;
};

/// The files of one tree: the user's, or the system's.
class Reading {
 public:
  Reading(std::string home, std::string directory, bool is_users, std::size_t& files, std::size_t& bytes)
      : home_(std::move(home)), directory_(std::move(directory)), is_users_(is_users), files_(files), bytes_(bytes) {}

  /// Nothing if there is no such file.
  Result<std::optional<SshConfigText>> read(const std::string& path) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    const std::string name = shown(path);
    if (file.get() < 0) return failure(system_error("open " + name, errno));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return failure(system_error("stat " + name, errno));
    SPARK_CHECK(check_file(name, status));
    SPARK_TRY(const std::string text, text_of(file.get(), name));
    SshConfigText config{name, {}};
    SPARK_TRY(config.lines, parse_ssh_config(text, name));
    levels_.push_back({name, status.st_dev, status.st_ino});
    for (SshConfigLine& line : config.lines) {
      if (line.keyword == "include") SPARK_CHECK(read_included(config.name, line));
    }
    levels_.pop_back();
    return config;
  }

 private:
  std::string shown(const std::string& path) const {
    const bool below_home = !home_.empty() && path.starts_with(home_ + "/");
    return printable(below_home ? "~" + path.substr(home_.size()) : path);
  }

  Result<void> check_file(const std::string& name, const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, name + " is not a regular file");
    const bool others_own = status.st_uid != 0 && status.st_uid != ::getuid();
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    // As in OpenSSH, the system's own file is exempt, and what it includes is not.
    if ((is_users_ || !levels_.empty()) && (others_own || others_write)) {
      return failure(ErrorCode::kPermissionDenied,
                     name + (others_own ? " belongs to another user" : " can be written by other users") +
                         ": OpenSSH refuses it, and so does sparkplan",
                     others_own ? "it has to belong to you or to root" : "run `chmod go-w " + name + "`");
    }
    const auto again = std::ranges::find_if(
        levels_, [&](const Level& level) { return level.device == status.st_dev && level.inode == status.st_ino; });
    if (again != levels_.end()) {
      std::string circle;
      for (auto level = again; level != levels_.end(); ++level) circle += level->name + " -> ";
      return failure(ErrorCode::kInvalidInput, name + " includes itself: " + circle + name,
                     "remove one of these Include lines");
    }
    if (levels_.size() == kMostLevels) {
      return failure(ErrorCode::kInvalidInput,
                     name + " is included over more than " + std::to_string(kMostLevels) + " levels");
    }
    if (++files_ <= kMostFiles) return {};
    return failure(ErrorCode::kInvalidInput,
                   "the ssh configuration has more than " + std::to_string(kMostFiles) + " files, at " + name);
  }

  Result<std::string> text_of(int file, const std::string& name) {
    SPARK_TRY(auto text, read_up_to(file, kLargestConfigFile + 1 - bytes_, name));
    bytes_ += text.size();
    if (bytes_ <= kLargestConfigFile) return text;
    return failure(ErrorCode::kInvalidInput, "the ssh configuration has more than 1 MiB, at " + name);
  }

  std::string absolute(const std::string& pattern) const {
    if (is_users_ && pattern.starts_with("~/")) return home_ + pattern.substr(1);
    return pattern.starts_with('/') ? pattern : directory_ + "/" + pattern;
  }

  Result<void> read_included(const std::string& name, SshConfigLine& line) {
    for (const std::string& pattern : line.arguments) {
      const auto context = name + ":" + std::to_string(line.number);
      for (const std::string& path : matches_of(absolute(pattern))) {
        auto included = read(path);
        if (!included) return failure(std::move(included).error().within(context));
        if (*included) line.included.push_back(**std::move(included));
      }
    }
    return {};
  }

  /// In lexical order.
  static std::vector<std::string> matches_of(const std::string& pattern) {
    glob_t found{};
    std::vector<std::string> paths;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    }
    ::globfree(&found);
    return paths;
  }

  std::string home_;
  std::string directory_;
  bool is_users_;
  std::size_t& files_;
  std::size_t& bytes_;
  std::vector<Level> levels_;
};

}  // namespace

Result<SshConfig> read_ssh_config(const SshConfigPlaces& places) {
  SshConfig config;
  std::size_t files = 0;
  std::size_t bytes = 0;
  const std::string users = places.home + "/.ssh";
  SPARK_TRY(auto own, Reading(places.home, users, true, files, bytes).read(users + "/config"));
  if (own) config.files.push_back(*std::move(own));
  SPARK_TRY(auto of_system,
            Reading(places.home, places.system, false, files, bytes).read(places.system + "/ssh_config"));
  if (of_system) config.files.push_back(*std::move(of_system));
  return config;
}

LocalUser local_user() {
  const auto variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const auto user = own_user();
  return {user && !user->name.empty() ? user->name : "root", own_home(), variable};
}

}  // namespace sparkplan
