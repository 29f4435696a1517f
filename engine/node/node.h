#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// What a command printed, and how it ended.
struct CommandOutput {
  int exit_status = 0;  ///< 128 + signal number when a signal ended it.
  std::string standard_output;
  std::string standard_error;
};

/// Properties of a systemd unit by name, as `systemctl show` prints them: "yes", "infinity", a list joined by blanks. A
/// property that units of its kind lack is missing.
using UnitProperties = std::map<std::string, std::string>;

/// Empty for one that is missing.
inline std::string property_of(const UnitProperties& unit, const std::string& name) {
  const auto found = unit.find(name);
  return found == unit.end() ? std::string() : found->second;
}

/// A file of any kind as lstat(2) sees it.
struct FileStatus {
  enum class Kind : std::uint8_t { kRegular, kDirectory, kSymlink, kOther };
  Kind kind = Kind::kRegular;
  std::uint32_t mode = 0;  ///< Permission bits only: 0644.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t size = 0;
  std::uint64_t device = 0;           ///< st_dev
  std::uint64_t inode = 0;            ///< st_ino
  std::int64_t changed_at_nanos = 0;  ///< st_ctim, nanoseconds since the epoch.
};

/// A directory as an earlier check has found it.
struct CheckedDirectory {
  std::optional<FileStatus> status;  ///< Nothing: it was not there.
};

/// A file in the home of a user, who can put a symbolic link anywhere: from `home` on,
/// `home` itself included, none is followed. What is above `home` belongs to root and is trusted.
struct UserPath {
  std::filesystem::path home;   ///< "/home/nvidia"
  std::filesystem::path below;  ///< ".ssh/authorized_keys"; empty for the home itself.
  /// The directory that the file is in, as it was checked. Where another one is there by now, or the same with
  /// another owner or mode, nothing is read or written: kStalePlan. Without it any directory will do.
  std::optional<CheckedDirectory> checked = {};

  std::filesystem::path path() const { return below.empty() ? home : home / below; }
};

/// What of a network interface can be put back through netlink.
struct LinkState {
  std::string name;
  int mtu = 0;
  bool up = false;
  std::vector<std::string> addresses;  ///< With prefix length. The kernel's own fe80:: ones are left alone.
};

/// The content and attributes of a regular file, replaced or created as a whole.
struct FileContent {
  std::string bytes;
  std::uint32_t mode = 0644;  ///< The full permission set; the umask is ignored.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;

  bool operator==(const FileContent&) const = default;
};

/// One machine, seen without the power to change it. ResourceType::observe() has only this, so
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

  /// Whether a file of any kind has that path. Errors: kPermissionDenied.
  Result<bool> is_there(const std::filesystem::path& path) const {
    const auto found = status(path);
    if (found) return true;
    if (found.error().code == ErrorCode::kNotFound) return false;
    return failure(found.error());
  }

  /// Names in a directory, sorted, without "." and "..". Errors: kNotFound, kPermissionDenied.
  virtual Result<std::vector<std::string>> list_directory(const std::filesystem::path& path) const = 0;

  /// As read_file() and status(), of a file in a user's home. A link anywhere below the home's parent
  /// is no file: kRefused, and the error names it.
  virtual Result<std::string> read_user_file(const UserPath& path,
                                             std::size_t max_bytes = std::size_t{1} << 20) const = 0;
  virtual Result<FileStatus> user_status(const UserPath& path) const = 0;

  /// The node's end of our connection, as sshd reports it ("10.0.0.11", "fe80::1%eth0"); empty
  /// where there is none.
  virtual std::string connection_address() const = 0;

  /// All network interfaces but loopback, sorted by name, as the kernel has them now.
  /// Errors: kUnsupported when not live(), kFailed.
  virtual Result<std::vector<LinkFacts>> links() const = 0;

  /// Lets time pass, for what the machine does by itself. A loop that waits counts its pauses, not the
  /// clock: then it comes to its end at once where time does not really pass, as in tests.
  virtual void pause(std::chrono::milliseconds duration) const = 0;

  /// These properties of these units, in the order of `names`, which are whole names of no templates. systemd describes
  /// each unit at one moment; one that does not exist has the LoadState "not-found".
  /// Errors: kUnsupported when not live() or without systemd; kUnreachable (deadline); kFailed with systemd's reason.
  virtual Result<std::vector<UnitProperties>> units(std::span<const std::string> names,
                                                    std::span<const std::string_view> properties,
                                                    std::chrono::milliseconds deadline) const = 0;

  /// Runs a command that must not change the node ("nft list ruleset"). No shell: argv[0] is looked
  /// up in a fixed PATH. A non-zero exit is a value, not an Error.
  /// Errors: kNotFound, kUnreachable (deadline; the command is killed), kUnsupported when not live(); kFailed for more
  /// than 4 MiB of standard output: the first part of an answer is none.
  virtual Result<CommandOutput> query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const = 0;
};

/// The same machine with the power to change it. Used from one thread at a time.
class Node : public NodeReader {
 public:
  /// Replaces or creates a file so that a reader sees the old or the new one, never a mixture, and
  /// so that it survives a power cut: temporary file beside it, fchmod, fchown, fsync, rename,
  /// fsync of the directory. Missing parent directories are made (0755). A symbolic link in the place
  /// of the file, or of the directory that it is in, is refused, never followed.
  /// Errors: kRefused (symbolic link or directory in the way), kPermissionDenied, kFailed.
  virtual Result<void> write_file(const std::filesystem::path& path, const FileContent& content) = 0;

  /// Removes a file; one that is not there is no failure. Errors: kPermissionDenied, kFailed.
  virtual Result<void> remove_file(const std::filesystem::path& path) = 0;

  /// As write_file() and remove_file(), in a user's home. Missing directories between the home and
  /// the file are made with mode 0700 for the owner of `content`. Errors: also kNotFound without a home.
  virtual Result<void> write_user_file(const UserPath& path, const FileContent& content) = 0;
  virtual Result<void> remove_user_file(const UserPath& path) = 0;

  /// Puts an interface into a state it was in before, past every renderer: MTU, up or down, exactly
  /// these addresses. Errors: kNotFound, kFailed with the kernel's reason, kUnsupported when not live().
  virtual Result<void> restore_link(const LinkState& state) = 0;

  /// An empty directory that only root can enter, for trying out what is to be written. Another one
  /// with every call; all are gone when the run ends. Errors: as write_file().
  virtual Result<std::filesystem::path> make_scratch_directory() = 0;

  /// The same, but one for all calls with that name: what an earlier call of the run has put there may be there.
  virtual Result<std::filesystem::path> scratch_directory(const std::string& name) = 0;

  /// Writes to a file of the kernel's (/proc/sys/...), which cannot be renamed over.
  /// Errors: kNotFound, kPermissionDenied, kFailed with the kernel's errno, kUnsupported when not live().
  virtual Result<void> write_kernel_file(const std::filesystem::path& path, std::string_view content) = 0;

  /// Runs a command that changes the node. No shell. What it prints beyond 4 MiB is dropped.
  /// Errors: kNotFound, kUnreachable, kUnsupported when not live().
  virtual Result<CommandOutput> run(std::span<const std::string> argv, std::chrono::milliseconds deadline) = 0;
};

}  // namespace sparkplan
