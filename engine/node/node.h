#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// What a command printed, and how it ended.
struct CommandOutput {
  int exit_status = 0;  ///< 128 + signal number when a signal ended it.
  std::string standard_output;
  std::string standard_error;
};

/// A file of any kind as lstat(2) sees it.
struct FileStatus {
  enum class Kind : std::uint8_t { kRegular, kDirectory, kSymlink, kOther };
  Kind kind = Kind::kRegular;
  std::uint32_t mode = 0;  ///< Permission bits only: 0644.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t size = 0;
};

/// The content and attributes of a regular file, replaced or created as a whole.
struct FileContent {
  std::string bytes;
  std::uint32_t mode = 0644;  ///< The full permission set; the umask is ignored.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;

  bool operator==(const FileContent&) const = default;
};

/// One machine, seen without the power to change it. ResourceType::observe() gets only this, so
/// "plan changes nothing" holds by type, not by discipline.
/// Implementations: LocalNode (engine/agent), FakeNode (tests/support).
class NodeReader {
 public:
  virtual ~NodeReader() = default;

  /// True for a running machine; false for a directory tree or image, which has no kernel
  /// parameters, links or units, and for which query() says kUnsupported.
  virtual bool live() const = 0;

  /// Whole content of a regular file; a symbolic link is followed, within the node's root.
  /// Errors: kNotFound, kPermissionDenied, kUnsupported above `max_bytes` or for no regular file.
  virtual Result<std::string> read_file(const std::filesystem::path& path,
                                        std::size_t max_bytes = std::size_t{1} << 20) const = 0;

  /// lstat(2). Errors: kNotFound, kPermissionDenied.
  virtual Result<FileStatus> status(const std::filesystem::path& path) const = 0;

  /// Names in a directory, sorted, without "." and "..". Errors: kNotFound, kPermissionDenied.
  virtual Result<std::vector<std::string>> list_directory(const std::filesystem::path& path) const = 0;

  /// Runs a command that must not change the node ("systemctl show"). No shell: argv[0] is looked
  /// up in a fixed PATH. A non-zero exit is a value, not an Error.
  /// Errors: kNotFound, kUnreachable (deadline; the command is killed), kUnsupported when not live().
  virtual Result<CommandOutput> query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const = 0;
};

/// The same machine with the power to change it. Used from one thread at a time.
class Node : public NodeReader {
 public:
  /// Replaces or creates a file so that a reader sees the old or the new one, never a mixture, and
  /// so that it survives a power cut: temporary file beside it, fchmod, fchown, fsync, rename,
  /// fsync of the directory. Missing parent directories are made (0755). A symbolic link is
  /// refused, never followed.
  /// Errors: kRefused (symbolic link or directory in the way), kPermissionDenied, kFailed.
  virtual Result<void> write_file(const std::filesystem::path& path, const FileContent& content) = 0;

  /// Removes a file; one that is not there is no failure. Errors: kPermissionDenied, kFailed.
  virtual Result<void> remove_file(const std::filesystem::path& path) = 0;

  /// Writes to a file of the kernel's (/proc/sys/...), which cannot be renamed over.
  /// Errors: kNotFound, kPermissionDenied, kFailed with the kernel's errno, kUnsupported when not live().
  virtual Result<void> write_kernel_file(const std::filesystem::path& path, std::string_view content) = 0;

  /// Runs a command that changes the node. No shell. Errors: as query().
  virtual Result<CommandOutput> run(std::span<const std::string> argv, std::chrono::milliseconds deadline) = 0;
};

}  // namespace sparkplan
