#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/text.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// The output of a command, and its exit status.
struct CommandOutput {
  int exit_status = 0;  ///< 128 + signal number when a signal ended it.
  std::string standard_output;
  std::string standard_error;
};

/// Properties of a systemd unit by name, as `systemctl show` prints them: "yes", "infinity", a list joined by blanks.
/// Properties that this kind of unit lacks are missing.
using UnitProperties = std::map<std::string, std::string>;

/// Empty for a missing property.
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
  /// Of a file or directory: one whom a POSIX ACL lets write to it, beside root, the owner and the group root: "user ID
  /// 1001". With an ACL, the group's bits of `mode` are its mask and not the group's rights. Empty: no one.
  std::string acl_writer = {};
};

/// The state of a directory at an earlier check.
struct CheckedDirectory {
  std::optional<FileStatus> status;  ///< Nothing: it did not exist.
};

/// A file in the home of a user, who can put a symbolic link anywhere in it. From `home` on, `home` included, no link
/// is followed. The directories above `home` belong to root and are trusted.
struct UserPath {
  std::filesystem::path home;   ///< "/home/nvidia"
  std::filesystem::path below;  ///< ".ssh/authorized_keys"; empty for the home itself.
  /// The file's directory at the time of the check. If it is now another directory, or has another owner or mode, reads
  /// and writes fail with kStalePlan. Without a value any directory is accepted.
  std::optional<CheckedDirectory> checked = {};
  /// The file system of the home, if each access to it could wait without end: "nfs4 10.0.0.11:/home". Such an access
  /// fails with kUnreachable at a deadline, and the error has this text. After one of them, further ones fail at once.
  /// A file system that is mounted on the home or in it counts as well, also without this text.
  std::string served_by = {};
  /// The directory above the home where that file system is mounted: "/home". If the home itself does not answer, all
  /// homes with this directory are silent. Empty if silence concerns this home alone.
  std::filesystem::path shared_mount = {};

  std::filesystem::path path() const { return below.empty() ? home : home / below; }
};

/// The part of an interface's state that netlink can restore.
struct LinkState {
  std::string name;
  int mtu = 0;
  bool up = false;
  /// With prefix length. The kernel's own fe80:: addresses are not changed.
  std::vector<std::string> addresses;
  /// The seconds after which an address that has to be added ends. An address without an entry has no end.
  std::map<std::string, std::int64_t> lifetimes = {};
};

/// The content and attributes of a regular file, replaced or created as a whole.
struct FileContent {
  std::string bytes;
  std::uint32_t mode = 0644;  ///< The complete permission set; the umask is ignored.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;

  bool operator==(const FileContent&) const = default;
};

/// A file that only root can read.
inline FileContent private_file(std::string bytes) { return {std::move(bytes), 0600, 0, 0}; }

/// The error for a file that is not regular, at a path where sparkplan writes one.
inline Error no_regular_file(const std::filesystem::path& path, bool is_link) {
  return make_error(ErrorCode::kRefused, path.string() + (is_link ? " is a symbolic link" : " is not a regular file"),
                    "sparkplan replaces regular files only: move it away or put a regular file there");
}

/// The output of a program that the node must have: kUnsupported in place of kNotFound.
inline Result<CommandOutput> needs_program(Result<CommandOutput> output, const std::string& program,
                                           std::string hint = {}) {
  if (output || output.error().code != ErrorCode::kNotFound) return output;
  return failure(ErrorCode::kUnsupported, "there is no " + program + " on this node", std::move(hint));
}

/// Read-only access to one machine. ResourceType::observe() has only this, so the types guarantee that a plan changes
/// nothing.
/// Implementations: LocalNode (engine/agent/node), FakeNode (tests/support).
class NodeReader {
 public:
  virtual ~NodeReader() = default;

  /// True for a running machine. False for a directory tree or image: it has no kernel parameters, links or units, and
  /// query() fails with kUnsupported.
  virtual bool live() const = 0;

  /// The whole content of a regular file; a symbolic link is followed, within the node's root.
  /// Errors: kNotFound, kPermissionDenied, kUnsupported above `max_bytes` or for a file that is not regular.
  virtual Result<std::string> read_file(const std::filesystem::path& path,
                                        std::size_t max_bytes = std::size_t{1} << 20) const = 0;

  /// Limits of read_lines(), in bytes.
  struct LineLimits {
    std::size_t line = std::size_t{64} << 10;  ///< Longer lines are left out.
    std::size_t all = std::size_t{1} << 30;    ///< Of the file.
  };
  /// Calls `take` for each line of a regular file in turn, without its '\n', and stops at the first Error of `take`. A
  /// large file costs time, but no memory beyond a line. The default is for nodes whose files are in memory.
  /// Errors: as read_file(), with kUnsupported above `limits.all`; the error of `take`.
  virtual Result<void> read_lines(const std::filesystem::path& path, const LineLimits& limits,
                                  const std::function<Result<void>(std::string_view)>& take) const {
    SPARK_TRY(const std::string text, read_file(path, limits.all));
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = take_line(rest);
      if (line.size() <= limits.line) SPARK_CHECK(take(line));
    }
    return {};
  }

  /// lstat(2). Errors: kNotFound, kPermissionDenied.
  virtual Result<FileStatus> status(const std::filesystem::path& path) const = 0;

  /// The whole content of a regular file, with the attributes of that very file. A link in its place is not followed,
  /// even if another user puts it there meanwhile. The default is for nodes without other users.
  /// Errors: as read_file(); kRefused for a file that is not regular.
  virtual Result<FileContent> read_regular_file(const std::filesystem::path& path,
                                                std::size_t max_bytes = std::size_t{1} << 20) const {
    SPARK_TRY(const FileStatus found, status(path));
    if (found.kind != FileStatus::Kind::kRegular)
      return failure(no_regular_file(path, found.kind == FileStatus::Kind::kSymlink));
    SPARK_TRY(std::string bytes, read_file(path, max_bytes));
    return FileContent{std::move(bytes), found.mode, found.uid, found.gid};
  }

  /// Whether a file of any kind exists at that path. Errors: kPermissionDenied.
  Result<bool> is_there(const std::filesystem::path& path) const {
    SPARK_TRY(const auto found, if_there(status(path)));
    return found.has_value();
  }

  /// Names in a directory, sorted, without "." and "..". Errors: kNotFound, kPermissionDenied, kUnsupported (more than
  /// 50,000: users can fill some directories).
  virtual Result<std::vector<std::string>> list_directory(const std::filesystem::path& path) const = 0;

  /// As read_file() and status(), for a file in a user's home. A symbolic link at the home itself or below it is
  /// refused: kRefused, and the error names it.
  virtual Result<std::string> read_user_file(const UserPath& path,
                                             std::size_t max_bytes = std::size_t{1} << 20) const = 0;
  virtual Result<FileStatus> user_status(const UserPath& path) const = 0;

  /// As read_regular_file(), for a file in a user's home. The default is for nodes without other users.
  /// Errors: as read_user_file() and user_status().
  virtual Result<FileContent> read_regular_user_file(const UserPath& path,
                                                     std::size_t max_bytes = std::size_t{1} << 20) const {
    SPARK_TRY(const FileStatus found, user_status(path));
    SPARK_TRY(std::string bytes, read_user_file(path, max_bytes));
    return FileContent{std::move(bytes), found.mode, found.uid, found.gid};
  }

  /// The node's address of our SSH connection, as sshd reports it ("10.0.0.11", "fe80::1%eth0"); empty without one.
  virtual std::string connection_address() const = 0;

  /// The ID of the user whose login started this run. With sudo, that user can become root. 0 for root.
  virtual std::uint32_t login_user() const { return 0; }

  /// All network interfaces but loopback, sorted by name, in the kernel's current state.
  /// Errors: kUnsupported when not live(), kFailed.
  virtual Result<std::vector<LinkFacts>> links() const = 0;

  /// Waits while the machine works. A loop that waits counts its pauses instead of reading the clock. So it ends at
  /// once in tests, where no time passes.
  virtual void pause(std::chrono::milliseconds duration) const = 0;

  /// The requested properties of the units, in the order of `names`, which are complete names, not templates. systemd
  /// takes the properties of each unit at one moment. A unit that does not exist has the LoadState "not-found".
  /// Errors: kUnsupported when not live() or without systemd; kUnreachable (deadline); kFailed with systemd's reason.
  virtual Result<std::vector<UnitProperties>> units(std::span<const std::string> names,
                                                    std::span<const std::string_view> properties,
                                                    std::chrono::milliseconds deadline) const = 0;

  /// Runs a command that must not change the node ("nft list ruleset"). No shell: argv[0] is searched in a fixed PATH.
  /// A non-zero exit is a value, not an Error.
  /// Errors: kNotFound, kUnreachable (deadline; the command is killed), kUnsupported when not live(); kFailed for more
  /// than 4 MiB of standard output, because a partial answer is of no use.
  virtual Result<CommandOutput> query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const = 0;
};

/// A command that goes on while its caller does something else. The destructor kills it unless its end was awaited.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;
  /// Waits for its end; called at most once. Errors: kUnreachable (deadline; the command is killed).
  virtual Result<CommandOutput> wait() = 0;
};

/// Read and write access to one machine. Used from one thread at a time.
class Node : public NodeReader {
 public:
  /// Replaces or creates a file so that a reader sees the old or the new content, never a mixture. The file survives a
  /// power cut: temporary file in the same directory, fchmod, fchown, fsync, rename, fsync of the directory. Missing
  /// parent directories are made (0755). A symbolic link in place of the file or of its directory is refused, never
  /// followed.
  /// Errors: kRefused (symbolic link or directory in the way), kPermissionDenied, kFailed.
  virtual Result<void> write_file(const std::filesystem::path& path, const FileContent& content) = 0;

  /// Removes a file; a missing file is not an error. Errors: kPermissionDenied, kFailed.
  virtual Result<void> remove_file(const std::filesystem::path& path) = 0;

  /// Removes an empty directory; a missing one is not an error. Errors: kFailed when it is not empty;
  /// kPermissionDenied.
  virtual Result<void> remove_directory(const std::filesystem::path& path) = 0;

  /// Makes a directory (0755) in one that exists, or removes an empty one. No symbolic link is followed on the way to
  /// it, even if another user, who owns a directory above it, puts one there meanwhile.
  /// Errors: kRefused for a link or a file on the way; kNotFound, kPermissionDenied, kFailed.
  virtual Result<void> make_empty_directory(const std::filesystem::path& path) = 0;
  virtual Result<void> remove_empty_directory(const std::filesystem::path& path) = 0;

  /// As write_file() and remove_file(), in a user's home. Missing directories between the home and
  /// the file are made with mode 0700 for the owner of `content`. Errors: also kNotFound without a home.
  virtual Result<void> write_user_file(const UserPath& path, const FileContent& content) = 0;
  virtual Result<void> remove_user_file(const UserPath& path) = 0;

  /// Detaches the mount at `path`, also one in use, without a program: the mount may hide the programs of the node. No
  /// link at `path` or on the way to it is followed.
  /// Errors: kRefused for a link or a file on the way; kNotFound; kFailed with the kernel's reason; kUnsupported when
  /// not live().
  virtual Result<void> detach_mount(const std::filesystem::path& path) = 0;

  /// Restores an earlier state of an interface directly, without networkd or NetworkManager: MTU, up or down, exactly
  /// these addresses. Other addresses that are LinkFacts::acquired stay: who gave them renews or removes them. Errors:
  /// kNotFound, kFailed with the kernel's reason, kUnsupported when not live().
  virtual Result<void> restore_link(const LinkState& state) = 0;

  /// An empty directory that only root can enter, for testing content before it is written. Each call makes a new one;
  /// all are removed when the run ends. Errors: as write_file().
  virtual Result<std::filesystem::path> make_scratch_directory() = 0;

  /// As make_scratch_directory(), but all calls with the same name return the same directory. It may contain files from
  /// earlier calls of the run.
  virtual Result<std::filesystem::path> scratch_directory(const std::string& name) = 0;

  /// Writes to a kernel file (/proc/sys/...), which rename cannot replace.
  /// Errors: kNotFound, kPermissionDenied, kFailed with the kernel's errno, kUnsupported when not live().
  virtual Result<void> write_kernel_file(const std::filesystem::path& path, std::string_view content) = 0;

  /// Runs a command that changes the node. No shell. Output beyond 4 MiB is dropped.
  /// Errors: kNotFound, kUnreachable, kUnsupported when not live().
  virtual Result<CommandOutput> run(std::span<const std::string> argv, std::chrono::milliseconds deadline) = 0;

  /// As run(), for a command that prints little: returns as soon as it has started. `deadline` begins with
  /// RunningCommand::wait(). Errors: kNotFound, kFailed, kUnsupported when not live().
  virtual Result<std::unique_ptr<RunningCommand>> start(std::span<const std::string> argv,
                                                        std::chrono::milliseconds deadline) = 0;
};

}  // namespace sparkplan
