#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/home_time.h"
#include "engine/agent/node/separate_access.h"
#include "engine/agent/node/user_mounts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// A file on trial: it is read and written at a volatile twin, which overrides it until the next boot.
struct StagedFile {
  std::filesystem::path path;
  std::filesystem::path twin;
  std::string absent_content;  ///< The content of the twin while the file is to be absent.
};

/// The machine that the agent runs on, or a directory in its place. No path and no symbolic link leads out of the
/// directory.
class LocalNode final : public Node {
 public:
  /// `root` "/" is the live machine. Errors: kNotFound, kPermissionDenied.
  static Result<LocalNode> open(const std::filesystem::path& root);

  LocalNode(LocalNode&& other) noexcept;
  LocalNode& operator=(LocalNode&&) = delete;
  ~LocalNode() override;

  bool live() const override { return live_; }
  Result<std::string> read_file(const std::filesystem::path& path,
                                std::size_t max_bytes = std::size_t{1} << 20) const override;
  Result<void> read_lines(const std::filesystem::path& path, const LineLimits& limits,
                          const std::function<Result<void>(std::string_view)>& take) const override;
  Result<FileStatus> status(const std::filesystem::path& path) const override;
  Result<FileContent> read_regular_file(const std::filesystem::path& path,
                                        std::size_t max_bytes = std::size_t{1} << 20) const override;
  Result<std::vector<std::string>> list_directory(const std::filesystem::path& path) const override;
  Result<std::string> read_user_file(const UserPath& path, std::size_t max_bytes = std::size_t{1} << 20) const override;
  Result<FileStatus> user_status(const UserPath& path) const override;
  Result<FileContent> read_regular_user_file(const UserPath& path,
                                             std::size_t max_bytes = std::size_t{1} << 20) const override;
  std::string connection_address() const override;
  std::uint32_t login_user() const override;
  Result<std::vector<LinkFacts>> links() const override;
  void pause(std::chrono::milliseconds duration) const override;
  Result<std::vector<UnitProperties>> units(std::span<const std::string> names,
                                            std::span<const std::string_view> properties,
                                            std::chrono::milliseconds deadline) const override;
  Result<CommandOutput> query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const override;

  Result<void> write_file(const std::filesystem::path& path, const FileContent& content) override;
  Result<void> remove_file(const std::filesystem::path& path) override;
  Result<void> remove_directory(const std::filesystem::path& path) override;
  Result<void> make_empty_directory(const std::filesystem::path& path) override;
  Result<void> remove_empty_directory(const std::filesystem::path& path) override;
  Result<void> write_user_file(const UserPath& path, const FileContent& content) override;
  Result<void> remove_user_file(const UserPath& path) override;
  Result<void> detach_mount(const std::filesystem::path& path) override;
  Result<void> restore_link(const LinkState& state) override;
  Result<std::filesystem::path> make_scratch_directory() override;
  Result<std::filesystem::path> scratch_directory(const std::string& name) override;
  Result<void> write_kernel_file(const std::filesystem::path& path, std::string_view content) override;
  Result<CommandOutput> run(std::span<const std::string> argv, std::chrono::milliseconds deadline) override;
  Result<std::unique_ptr<RunningCommand>> start(std::span<const std::string> argv,
                                                std::chrono::milliseconds deadline) override;

  /// Checks whether write_file() would succeed, as far as possible without changing the file. The directory must accept
  /// a file of that size, and the file must not be protected. Errors: those of write_file().
  Result<void> check_replaceable(const std::filesystem::path& path, const std::string& bytes);
  /// rename(2) within one directory, with a sync to disk. Errors: kNotFound, kPermissionDenied, kFailed.
  Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) const;

  /// Until unstage(), all functions of Node and NodeReader use the twin in place of `file.path`. Types then see the
  /// current content, and nothing becomes permanent.
  void stage(StagedFile file);
  void unstage() { staged_.clear(); }

  /// While it lives, links() returns the result of its first call, until run() or pause(). A reply then describes one
  /// moment, and the kernel is asked once. It asks homes that were silent before again, and HomeTime shares out
  /// `for_homes` among them.
  class OneMoment {
   public:
    explicit OneMoment(const LocalNode& node, std::chrono::milliseconds for_homes = kTimeOfAllHomes) : node_(node) {
      node_.links_.emplace();
      node_.silent_mounts_.clear();
      node_.silent_homes_.clear();
      node_.home_time_ = HomeTime(for_homes);
    }
    OneMoment(const OneMoment&) = delete;
    OneMoment& operator=(const OneMoment&) = delete;
    ~OneMoment() { node_.links_.reset(); }

   private:
    const LocalNode& node_;
  };

  /// run() and RunningCommand::wait() call this from time to time during long programs, such as the installation of a
  /// package.
  void give_signs_of_life(std::function<void()> sign_of_life) { sign_of_life_ = std::move(sign_of_life); }

  /// Removes directories of make_scratch_directory() that killed agents left. Only under the node's lock.
  void remove_stale_scratch_directories();

  /// Opens a file below the root, close-on-exec, for code that needs a descriptor: the lock, the journal.
  /// Errors: those of the system call; kRefused for a file in a mount that a user has made.
  Result<FileDescriptor> open_descriptor(const std::filesystem::path& path, int flags, std::uint32_t mode = 0) const;
  /// Makes a directory and its parents; `mode` applies to the last directory.
  Result<void> make_directories(const std::filesystem::path& path, std::uint32_t mode = 0755);

 private:
  LocalNode(FileDescriptor root, bool live) : root_(std::move(root)), live_(live) {}
  Result<FileDescriptor> open_in_tree(const std::filesystem::path& path, int flags, std::uint32_t mode) const;
  Result<FileStatus> status_of(int descriptor, const std::filesystem::path& path) const;
  Result<FileDescriptor> open_directory_of(const std::filesystem::path& file) const;
  Result<FileDescriptor> open_without_links(const std::filesystem::path& directory) const;
  Result<FileDescriptor> open_above(const UserPath& path) const;
  Result<FileDescriptor> open_in_home(const UserPath& path, int flags) const;
  Result<void> check_is_the_same(int directory, const UserPath& file) const;
  Result<FileDescriptor> open_checked_directory_of(const UserPath& file, int flags) const;
  Result<FileDescriptor> open_user_file(const UserPath& path, int flags) const;
  Result<FileDescriptor> open_or_make_directory_of(const UserPath& file, const FileContent& owner);
  /// Without a UserPath::served_by it enters no mounted file system, and fails with the errno EXDEV at one.
  using HomeAccess = std::function<Result<HomeAnswer>(const UserPath&)>;
  Result<HomeAnswer> access_home(const UserPath& path, std::chrono::milliseconds deadline,
                                 const HomeAccess& access) const;
  Result<HomeAnswer> access_separately(const UserPath& path, std::chrono::milliseconds deadline,
                                       const HomeAccess& access) const;
  Result<HomeAnswer> in_timed_process(const UserPath& path, std::chrono::milliseconds deadline,
                                      const HomeAccess& access) const;
  Error note_silence(const UserPath& path) const;
  Result<HomeAnswer> look_at_home_itself(const UserPath& path) const;
  Result<HomeAnswer> open_and_read(const UserPath& path, std::size_t max_bytes) const;
  Result<HomeAnswer> open_and_look(const UserPath& path) const;

  const StagedFile* staged(const std::filesystem::path& path) const;
  bool twin_exists(const StagedFile& file) const;
  bool twin_says_absent(const StagedFile& file) const;
  /// The path at which to read the file. Errors: kNotFound when its twin marks it as absent.
  Result<std::filesystem::path> place_of(const std::filesystem::path& path) const;
  void show_as_staged(const std::filesystem::path& directory, std::vector<std::string>& names) const;
  Result<std::string> read_in_place(const std::filesystem::path& path, std::size_t max_bytes) const;
  Result<FileStatus> status_in_place(const std::filesystem::path& path) const;
  Result<void> write_in_place(const std::filesystem::path& path, const FileContent& content);
  Result<void> remove_in_place(const std::filesystem::path& path);

  FileDescriptor root_;
  bool live_;
  std::vector<std::filesystem::path> scratch_;
  std::map<std::string, std::filesystem::path> named_scratch_;  ///< The named directories of scratch_.
  std::vector<StagedFile> staged_;
  std::function<void()> sign_of_life_;
  /// Only within a OneMoment; empty before the first read. It never contains the loopback, but each agent has another
  /// interface.
  mutable std::optional<std::vector<LinkFacts>> links_;
  /// UserPath::shared_mount of homes that did not answer themselves.
  mutable std::set<std::filesystem::path> silent_mounts_;
  /// Homes in which something did not answer, with the error.
  mutable std::map<std::filesystem::path, Error> silent_homes_;
  /// Counts within a OneMoment only.
  mutable HomeTime home_time_;
  mutable UserMounts user_mounts_;
};

}  // namespace sparkplan
