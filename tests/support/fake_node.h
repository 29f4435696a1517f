#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/node/node.h"

namespace sparkplan::test {

/// A machine in memory: files, links, kernel parameters and scripted commands. It logs every write, and any call fails
/// if a test asks for it. It keeps LocalNode's promises: whole-file writes are atomic, read_file() follows links,
/// write_file() refuses them.
class FakeNode : public Node {
 public:
  /// A kernel parameter that accepts, refuses or changes the written value.
  struct KernelFile {
    std::string value;                    ///< As a file shows it, without the final newline.
    std::optional<int> refuse_errno;      ///< Every write fails with this errno.
    std::optional<std::int64_t> maximum;  ///< A larger number is accepted and silently cut to this.
    std::optional<ErrorCode> read_error;  ///< Every read fails.
  };
  /// One write in the log. The operation is "write", "remove", "kernel", "run" or "start"; the subject is its target.
  struct Write {
    std::string operation;
    std::string subject;
    bool operator==(const Write&) const = default;
  };
  /// Path to a description of the file: type, mode, owner, content. Directories are included only if a test made them.
  using Snapshot = std::map<std::string, std::string>;
  static constexpr std::string_view kScratch = "/run/sparkplan/try-";

  void add_file(const std::string& path, std::string content, std::uint32_t mode = 0644, std::uint32_t uid = 0,
                std::uint32_t gid = 0);
  void add_symlink(const std::string& path, std::string target);
  void add_directory(const std::string& path);
  void add_directory_of_group(const std::string& path, std::uint32_t mode, std::uint32_t gid);
  void add_directory_of_user(const std::string& path, std::uint32_t mode, std::uint32_t uid, std::uint32_t gid);
  /// The ACL of a file or directory then lets `writer` write to it: "user ID 1001".
  void set_acl_writer(const std::string& path, std::string writer) { acl_writers_[path] = std::move(writer); }
  /// The server of that directory answers no more. An access fails with kUnreachable if its UserPath::served_by names
  /// the server. Any other access would wait without end: it fails with kBug.
  void set_silent(const std::string& directory) { silent_.insert(directory); }
  /// A device or socket.
  void add_special(const std::string& path);
  void add_kernel_file(const std::string& path, KernelFile file);
  void erase(const std::string& path);
  void set_live(bool live) { live_ = live; }
  /// The interface's current state; replaces a link of the same name.
  void add_link(LinkFacts link) { links_[link.name] = std::move(link); }
  void remove_link(const std::string& name) { links_.erase(name); }
  std::optional<LinkFacts> link(const std::string& name) const;

  /// One call of a program. `writable` is null in a call through query(), which must not change anything. A program
  /// keeps its state in files of the node, so that copies have their own.
  struct Call {
    std::vector<std::string> argv;
    const FakeNode& node;
    FakeNode* writable = nullptr;
  };
  using Program = std::function<Result<CommandOutput>(const Call&)>;
  /// Answers every command line that begins with `name` and is not scripted.
  void add_program(const std::string& name, Program program) { programs_[name] = std::move(program); }
  /// Answers units() for a unit that add_unit() has not named.
  using UnitReader = std::function<Result<UnitProperties>(const FakeNode&, const std::string& name)>;
  void set_unit_reader(UnitReader reader) { unit_reader_ = std::move(reader); }
  void add_unit(const std::string& name, UnitProperties properties) { units_[name] = std::move(properties); }
  /// A change by a program: without the log and the faults.
  void put_file(const std::string& path, std::string content) { add_file(path, std::move(content)); }
  /// Sets the output of a command line, its words joined by single blanks. All other command lines are not found.
  void script(const std::string& command_line, CommandOutput output) { commands_[command_line] = std::move(output); }

  /// The n-th write from now fails (1 is the next write), before its effect or after it.
  void fail_write(int n, Error error, bool after_effect = false);
  /// The n-th read from now fails.
  void fail_read(int n, Error error);
  void clear_faults();
  int reads() const { return reads_; }
  int writes() const { return writes_; }
  /// Number of calls of units().
  int unit_questions() const { return unit_questions_; }

  const std::vector<Write>& log() const { return log_; }
  void clear_log() { log_.clear(); }
  Snapshot snapshot() const;
  /// The text of a regular file, empty if the file is missing; does not count as a read.
  std::optional<std::string> text_of(const std::string& path) const;

  bool live() const override { return live_; }
  Result<std::string> read_file(const std::filesystem::path& path,
                                std::size_t max_bytes = std::size_t{1} << 20) const override;
  Result<FileStatus> status(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list_directory(const std::filesystem::path& path) const override;
  Result<std::string> read_user_file(const UserPath& path, std::size_t max_bytes = std::size_t{1} << 20) const override;
  Result<FileStatus> user_status(const UserPath& path) const override;
  void set_connection_address(std::string address) { connection_address_ = std::move(address); }
  std::string connection_address() const override { return connection_address_; }
  void set_login_user(std::uint32_t uid) { login_user_ = uid; }
  std::uint32_t login_user() const override { return login_user_; }
  Result<std::vector<LinkFacts>> links() const override;
  void pause(std::chrono::milliseconds duration) const override { paused_ += duration; }
  /// Total time that the node was made to wait.
  std::chrono::milliseconds paused() const { return paused_; }
  /// kUnsupported for a unit that neither add_unit() nor a UnitReader knows.
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
  /// Removes the last line of /proc/self/mountinfo with that target.
  Result<void> detach_mount(const std::filesystem::path& path) override;
  Result<void> restore_link(const LinkState& state) override;
  /// Below kScratch; snapshot() omits it, because it does not exist after a run.
  Result<std::filesystem::path> make_scratch_directory() override;
  Result<std::filesystem::path> scratch_directory(const std::string& name) override;
  Result<void> write_kernel_file(const std::filesystem::path& path, std::string_view content) override;
  Result<CommandOutput> run(std::span<const std::string> argv, std::chrono::milliseconds deadline) override;
  /// Runs the command to its end. The log calls it "start".
  Result<std::unique_ptr<RunningCommand>> start(std::span<const std::string> argv,
                                                std::chrono::milliseconds deadline) override;

 private:
  enum class Kind : std::uint8_t { kFile, kSymlink, kDirectory, kSpecial, kKernel };
  struct Entry {
    Kind kind = Kind::kFile;
    FileContent file;
    std::string target;
    KernelFile kernel;
  };
  struct Fault {
    int at = 0;  ///< Counted like reads_ and writes_; 0 is never.
    Error error;
    bool after_effect = false;
  };

  bool is_directory(const std::string& path) const;
  /// The path with links in its parents resolved; the link in its last part is resolved if `follow_last`.
  std::string resolve(const std::filesystem::path& path, bool follow_last) const;
  std::optional<Error> next_read() const;
  /// The error for a fault before this write's effect.
  std::optional<Error> next_write(std::string operation, std::string subject);
  /// The error for a fault after this write's effect; success without a fault.
  Result<void> after_write() const;
  Result<CommandOutput> command(std::span<const std::string> argv, FakeNode* writable) const;
  /// kRefused when a link is in the path below the home; kStalePlan when the directory is not the checked one.
  Result<void> check_way(const UserPath& path) const;
  /// `path` as the call has it, or without its links.
  Result<void> check_answers(const std::filesystem::path& path, const std::string& served_by = {}) const;

  bool live_ = true;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> acl_writers_;
  std::set<std::string> silent_;
  std::map<std::string, CommandOutput> commands_;
  std::map<std::string, Program> programs_;
  std::map<std::string, UnitProperties> units_;
  UnitReader unit_reader_;
  std::map<std::string, LinkFacts> links_;
  int scratch_directories_ = 0;
  std::map<std::string, std::filesystem::path> named_scratch_directories_;
  std::string connection_address_;
  std::uint32_t login_user_ = 0;
  mutable std::chrono::milliseconds paused_{0};
  std::vector<Write> log_;
  mutable int reads_ = 0;
  mutable int unit_questions_ = 0;
  int writes_ = 0;
  Fault read_fault_;
  Fault write_fault_;
};

}  // namespace sparkplan::test
