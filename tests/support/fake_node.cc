#include "tests/support/fake_node.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

constexpr int kLinkLimit = 40;  ///< As the kernel's limit.

tl::unexpected<Error> not_found(const std::filesystem::path& path) {
  return failure(ErrorCode::kNotFound, "no such file: " + path.string());
}

std::string owner_text(const FileContent& file) {
  std::string octal = "0000";
  for (std::size_t digit = octal.size(), mode = file.mode; digit-- > 0; mode >>= 3U) {
    octal[digit] = static_cast<char>('0' + (mode & 7U));
  }
  return octal + " " + std::to_string(file.uid) + ":" + std::to_string(file.gid);
}

class EndedCommand final : public RunningCommand {
 public:
  explicit EndedCommand(CommandOutput output) : output_(std::move(output)) {}
  Result<CommandOutput> wait() override { return output_; }

 private:
  CommandOutput output_;
};

}  // namespace

void FakeNode::add_file(const std::string& path, std::string content, std::uint32_t mode, std::uint32_t uid,
                        std::uint32_t gid) {
  entries_[path] = Entry{Kind::kFile, {std::move(content), mode, uid, gid}, {}, {}};
}

void FakeNode::add_symlink(const std::string& path, std::string target) {
  entries_[path] = Entry{Kind::kSymlink, {}, std::move(target), {}};
}

void FakeNode::add_directory(const std::string& path) { entries_[path] = Entry{Kind::kDirectory, {}, {}, {}}; }

void FakeNode::add_directory_of_group(const std::string& path, std::uint32_t mode, std::uint32_t gid) {
  add_directory(path);
  entries_[path].file.mode = mode;
  entries_[path].file.gid = gid;
}

void FakeNode::add_directory_of_user(const std::string& path, std::uint32_t mode, std::uint32_t uid,
                                     std::uint32_t gid) {
  add_directory_of_group(path, mode, gid);
  entries_[path].file.uid = uid;
}

void FakeNode::add_special(const std::string& path) { entries_[path] = Entry{Kind::kSpecial, {}, {}, {}}; }

void FakeNode::add_kernel_file(const std::string& path, KernelFile file) {
  entries_[path] = Entry{Kind::kKernel, {}, {}, std::move(file)};
}

void FakeNode::erase(const std::string& path) { entries_.erase(path); }

void FakeNode::fail_write(int n, Error error, bool after_effect) {
  write_fault_ = Fault{writes_ + n, std::move(error), after_effect};
}

void FakeNode::fail_read(int n, Error error) { read_fault_ = Fault{reads_ + n, std::move(error), false}; }

void FakeNode::clear_faults() {
  read_fault_ = Fault{};
  write_fault_ = Fault{};
}

FakeNode::Snapshot FakeNode::snapshot() const {
  Snapshot snapshot;
  for (const auto& [name, link] : links_) {
    snapshot["link " + name] =
        "mtu " + std::to_string(link.mtu) + (link.up ? " up " : " down ") + join(link.addresses, " ");
  }
  for (const auto& [path, entry] : entries_) {
    if (path.starts_with(kScratch)) continue;
    switch (entry.kind) {
      case Kind::kFile:
        snapshot[path] = "file " + owner_text(entry.file) + "\n" + entry.file.bytes;
        break;
      case Kind::kSymlink:
        snapshot[path] = "link " + entry.target;
        break;
      case Kind::kDirectory:
        snapshot[path] = "directory";
        break;
      case Kind::kSpecial:
        snapshot[path] = "special";
        break;
      case Kind::kKernel:
        snapshot[path] = "kernel " + entry.kernel.value;
        break;
    }
  }
  return snapshot;
}

std::optional<std::string> FakeNode::text_of(const std::string& path) const {
  const auto found = entries_.find(path);
  if (found == entries_.end() || found->second.kind != Kind::kFile) return std::nullopt;
  return found->second.file.bytes;
}

bool FakeNode::is_directory(const std::string& path) const {
  const auto found = entries_.find(path);
  if (found != entries_.end()) return found->second.kind == Kind::kDirectory;
  const std::string inside = path == "/" ? path : path + "/";
  const auto next = entries_.lower_bound(inside);
  return next != entries_.end() && next->first.starts_with(inside);
}

std::string FakeNode::resolve(const std::filesystem::path& path, bool follow_last) const {
  std::filesystem::path rest = path.lexically_normal();
  for (int links = 0; links < kLinkLimit; ++links) {
    std::filesystem::path at = "/";
    bool replaced = false;
    for (auto part = std::next(rest.begin()); part != rest.end(); ++part) {
      at /= *part;
      const bool last = std::next(part) == rest.end();
      const auto found = entries_.find(at.string());
      if (found == entries_.end() || found->second.kind != Kind::kSymlink || (last && !follow_last)) continue;
      std::filesystem::path target = at.parent_path() / found->second.target;  // An absolute target replaces the path.
      for (auto more = std::next(part); more != rest.end(); ++more) target /= *more;
      rest = target.lexically_normal();
      replaced = true;
      break;
    }
    if (!replaced) return at.string();
  }
  return {};
}

std::optional<Error> FakeNode::next_read() const {
  if (++reads_ != read_fault_.at) return std::nullopt;
  return read_fault_.error;
}

std::optional<Error> FakeNode::next_write(std::string operation, std::string subject) {
  log_.push_back({std::move(operation), std::move(subject)});
  if (++writes_ != write_fault_.at || write_fault_.after_effect) return std::nullopt;
  return write_fault_.error;
}

Result<void> FakeNode::after_write() const {
  if (writes_ == write_fault_.at && write_fault_.after_effect) return failure(write_fault_.error);
  return {};
}

Result<std::string> FakeNode::read_file(const std::filesystem::path& path, std::size_t max_bytes) const {
  SPARK_CHECK(check_answers(path));
  if (auto error = next_read()) return failure(*std::move(error));
  const std::string real = resolve(path, true);
  const auto found = entries_.find(real);
  if (found == entries_.end()) {
    if (is_directory(real)) return failure(ErrorCode::kUnsupported, path.string() + " is not a regular file");
    return not_found(path);
  }
  const Entry& entry = found->second;
  if (entry.kind == Kind::kKernel) {
    if (entry.kernel.read_error) return failure(*entry.kernel.read_error, "read " + path.string());
    return entry.kernel.value + "\n";
  }
  if (entry.kind != Kind::kFile) return failure(ErrorCode::kUnsupported, path.string() + " is not a regular file");
  if (entry.file.bytes.size() > max_bytes) return failure(ErrorCode::kUnsupported, path.string() + " is too large");
  return entry.file.bytes;
}

Result<FileStatus> FakeNode::status(const std::filesystem::path& path) const {
  SPARK_CHECK(check_answers(path));
  if (auto error = next_read()) return failure(*std::move(error));
  const std::string real = resolve(path, false);
  const auto found = entries_.find(real);
  if (found == entries_.end()) {
    if (is_directory(real)) return FileStatus{FileStatus::Kind::kDirectory, 0755, 0, 0, 0, 0, 0, 0, {}};
    return not_found(path);
  }
  const Entry& entry = found->second;
  FileStatus status{FileStatus::Kind::kOther,
                    entry.file.mode,
                    entry.file.uid,
                    entry.file.gid,
                    static_cast<std::int64_t>(entry.file.bytes.size()),
                    0,
                    0,
                    0,
                    {}};
  if (entry.kind == Kind::kFile || entry.kind == Kind::kKernel) status.kind = FileStatus::Kind::kRegular;
  if (entry.kind == Kind::kSymlink) status.kind = FileStatus::Kind::kSymlink;
  if (entry.kind == Kind::kDirectory) status.kind = FileStatus::Kind::kDirectory;
  if (const auto writer = acl_writers_.find(real); writer != acl_writers_.end()) status.acl_writer = writer->second;
  return status;
}

Result<std::vector<std::string>> FakeNode::list_directory(const std::filesystem::path& path) const {
  SPARK_CHECK(check_answers(path));
  if (auto error = next_read()) return failure(*std::move(error));
  const std::string real = resolve(path, true);
  if (!is_directory(real)) return not_found(path);
  const std::string inside = real == "/" ? real : real + "/";
  std::set<std::string> names;
  for (auto entry = entries_.lower_bound(inside); entry != entries_.end() && entry->first.starts_with(inside);
       ++entry) {
    const std::string below = entry->first.substr(inside.size());
    names.insert(below.substr(0, below.find('/')));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::optional<LinkFacts> FakeNode::link(const std::string& name) const {
  const auto found = links_.find(name);
  return found == links_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<LinkFacts>> FakeNode::links() const {
  if (auto error = next_read()) return failure(*std::move(error));
  if (!live_) return failure(ErrorCode::kUnsupported, "a directory tree has no network interfaces");
  std::vector<LinkFacts> links;
  for (const auto& [name, link] : links_) links.push_back(link);
  return links;
}

Result<void> FakeNode::detach_mount(const std::filesystem::path& path) {
  if (auto error = next_write("detach", path.string())) return failure(*std::move(error));
  const std::string table = text_of("/proc/self/mountinfo").value_or("");
  const auto at = table.rfind(" " + path.string() + " ");
  if (at == std::string::npos) return failure(ErrorCode::kFailed, "nothing is mounted at " + path.string());
  const auto line = table.rfind('\n', at) + 1;
  put_file("/proc/self/mountinfo", table.substr(0, line) + table.substr(table.find('\n', at) + 1));
  return after_write();
}

Result<void> FakeNode::restore_link(const LinkState& state) {
  if (auto error = next_write("link", state.name)) return failure(*std::move(error));
  const auto found = links_.find(state.name);
  if (found == links_.end()) return failure(ErrorCode::kNotFound, "there is no interface " + state.name);
  found->second.mtu = state.mtu;
  found->second.up = state.up;
  std::vector<std::string> addresses = state.addresses;
  for (const std::string& one : found->second.addresses) {
    const bool kept = std::find(addresses.begin(), addresses.end(), one) != addresses.end();
    if (!kept && found->second.acquired.contains(one)) addresses.push_back(one);
  }
  found->second.addresses = std::move(addresses);
  return after_write();
}

Result<std::filesystem::path> FakeNode::make_scratch_directory() {
  if (!live_) return failure(ErrorCode::kUnsupported, "the node is not a running system");
  const std::string path = std::string(kScratch) + std::to_string(++scratch_directories_);
  add_directory(path);
  return path;
}

Result<std::filesystem::path> FakeNode::scratch_directory(const std::string& name) {
  if (const auto known = named_scratch_directories_.find(name); known != named_scratch_directories_.end())
    return known->second;
  SPARK_TRY(const auto path, make_scratch_directory());
  named_scratch_directories_.emplace(name, path);
  return path;
}

Result<CommandOutput> FakeNode::command(std::span<const std::string> argv, FakeNode* writable) const {
  if (!live_) return failure(ErrorCode::kUnsupported, "the node is not a running system");
  const auto found = commands_.find(join(argv, " "));
  if (found != commands_.end()) return found->second;
  const auto program = argv.empty() ? programs_.end() : programs_.find(argv.front());
  if (program == programs_.end()) return failure(ErrorCode::kNotFound, "no such command: " + join(argv, " "));
  return program->second(Call{{argv.begin(), argv.end()}, *this, writable});
}

Result<std::vector<UnitProperties>> FakeNode::units(std::span<const std::string> names,
                                                    std::span<const std::string_view> properties,
                                                    std::chrono::milliseconds /*deadline*/) const {
  if (auto error = next_read()) return failure(*std::move(error));
  if (!live_) return failure(ErrorCode::kUnsupported, "the node is not a running system");
  ++unit_questions_;
  std::vector<UnitProperties> units;
  for (const std::string& name : names) {
    const auto known = units_.find(name);
    if (known == units_.end() && !unit_reader_) {
      return failure(ErrorCode::kUnsupported, "there is no systemctl on this node", "units need systemd");
    }
    SPARK_TRY(const UnitProperties all, known != units_.end() ? known->second : unit_reader_(*this, name));
    UnitProperties& unit = units.emplace_back();
    for (const auto property : properties) {
      if (const auto found = all.find(std::string(property)); found != all.end()) unit.insert(*found);
    }
  }
  return units;
}

Result<CommandOutput> FakeNode::query(std::span<const std::string> argv, std::chrono::milliseconds /*deadline*/) const {
  if (auto error = next_read()) return failure(*std::move(error));
  return command(argv, nullptr);
}

Result<void> FakeNode::write_file(const std::filesystem::path& path, const FileContent& content) {
  if (auto error = next_write("write", path.string())) return failure(*std::move(error));
  const std::string real = resolve(path, false);
  const auto found = entries_.find(real);
  const bool other = found != entries_.end() && found->second.kind != Kind::kFile;
  if (other || is_directory(real)) return failure(ErrorCode::kRefused, path.string() + " is not a regular file");
  for (auto parent = std::filesystem::path(real).parent_path(); parent != "/"; parent = parent.parent_path()) {
    const auto above = entries_.find(parent.string());
    if (above != entries_.end() && above->second.kind != Kind::kDirectory) {
      return failure(ErrorCode::kFailed, parent.string() + " is not a directory");
    }
  }
  entries_[real] = Entry{Kind::kFile, content, {}, {}};
  return after_write();
}

Result<void> FakeNode::remove_file(const std::filesystem::path& path) {
  if (auto error = next_write("remove", path.string())) return failure(*std::move(error));
  const std::string real = resolve(path, false);
  const auto found = entries_.find(real);
  if (found == entries_.end() && is_directory(real)) return failure(ErrorCode::kFailed, real + " is a directory");
  if (found != entries_.end()) entries_.erase(found);
  return after_write();
}

Result<void> FakeNode::remove_directory(const std::filesystem::path& path) {
  if (auto error = next_write("remove", path.string())) return failure(*std::move(error));
  const std::string inside = path.string() + "/";
  const auto next = entries_.lower_bound(inside);
  if (next != entries_.end() && next->first.starts_with(inside)) {
    return failure(ErrorCode::kFailed, path.string() + " is not empty");
  }
  entries_.erase(path.string());
  return after_write();
}

Result<void> FakeNode::write_kernel_file(const std::filesystem::path& path, std::string_view content) {
  if (auto error = next_write("kernel", path.string())) return failure(*std::move(error));
  if (!live_) return failure(ErrorCode::kUnsupported, "no kernel is running there");
  const auto found = entries_.find(path.string());
  if (found == entries_.end() || found->second.kind != Kind::kKernel) return not_found(path);
  KernelFile& file = found->second.kernel;
  if (file.refuse_errno) {
    Error error = system_error("write " + path.string(), *file.refuse_errno);
    error.code = ErrorCode::kFailed;
    return failure(std::move(error));
  }
  std::string value(content.substr(0, content.find('\n')));
  // The kernel prints lists of numbers with tabs, whatever separator was written.
  if (file.value.find('\t') != std::string::npos) std::replace(value.begin(), value.end(), ' ', '\t');
  if (file.maximum && std::atoll(value.c_str()) > *file.maximum) value = std::to_string(*file.maximum);
  if (!content.empty()) file.value = std::move(value);
  return after_write();
}

Result<CommandOutput> FakeNode::run(std::span<const std::string> argv, std::chrono::milliseconds /*deadline*/) {
  if (auto error = next_write("run", join(argv, " "))) return failure(*std::move(error));
  Result<CommandOutput> output = command(argv, this);
  SPARK_CHECK(after_write());
  return output;
}

Result<std::unique_ptr<RunningCommand>> FakeNode::start(std::span<const std::string> argv,
                                                        std::chrono::milliseconds /*deadline*/) {
  if (auto error = next_write("start", join(argv, " "))) return failure(*std::move(error));
  SPARK_TRY(CommandOutput output, command(argv, this));
  SPARK_CHECK(after_write());
  return std::make_unique<EndedCommand>(std::move(output));
}

}  // namespace sparkplan::test
