#include "engine/agent/trial/transaction.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "engine/agent/node/utc_time.h"
#include "engine/agent/state/journal.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecord = "record.json";
constexpr std::string_view kArmed = "armed";
constexpr std::string_view kCommitted = "committed";
constexpr std::string_view kRolledBack = "rolledback";
constexpr std::string_view kFailed = "failed";
constexpr std::string_view kCarriedOut = "carried-out";
constexpr std::string_view kUndone = "undone";
constexpr std::string_view kReason = "reason";
constexpr std::string_view kNotRestored = "not-restored";
constexpr std::string_view kDeadline = "deadline";
constexpr std::string_view kCommands = "manual-commands";
constexpr std::string_view kSnapshot = "lifeline.json";
constexpr std::string_view kWorking = "working";
/// The timer may be late on a busy machine.
constexpr std::chrono::seconds kGraceForTimer{5};
/// Its timer has ended with that boot. Such a window is long over.
constexpr std::int64_t kOfAnEarlierBoot = -3600;
constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;

/// Links the running program itself, whatever is installed later. Another file system needs a copy.
Result<void> put_program(const fs::path& to, LocalNode& node) {
  SPARK_TRY(const FileDescriptor directory, node.open_descriptor(to.parent_path(), O_RDONLY | O_DIRECTORY));
  if (::linkat(AT_FDCWD, "/proc/self/exe", directory.get(), to.filename().c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  const FileDescriptor self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (self.get() < 0) return failure(file_error("read", "/proc/self/exe"));
  SPARK_TRY(auto bytes, read_up_to(self.get(), std::numeric_limits<std::size_t>::max(), "/proc/self/exe"));
  return node.write_file(to, FileContent{std::move(bytes), 0700, 0, 0});
}

}  // namespace

std::optional<StagedFile> staged_file(const Step& step, const Registry& registry) {
  const auto* type = registry.find(step.type);
  if (type == nullptr || !type->info().staging || step.artifact.kind != file_artifact({}).kind) return std::nullopt;
  const auto& staging = *type->info().staging;
  const fs::path path = step.artifact.name;
  if (path.parent_path() != staging.directory) return std::nullopt;
  return StagedFile{path, fs::path(staging.volatile_twin) / path.filename(), staging.absent_content};
}

Result<std::optional<Transaction>> Transaction::find(const LocalNode& node) {
  SPARK_TRY(const auto names, or_empty(node.list_directory(kTransactionsDirectory)));
  if (names.empty()) return std::optional<Transaction>();
  const fs::path directory = fs::path(kTransactionsDirectory) / names.back();
  const auto unusable = [&](Error error) {
    error = std::move(error).within((directory / kRecord).string());
    error.hint = "it records an unconfirmed change: inspect the file, move its directory away, then plan again";
    return failure(std::move(error));
  };
  const auto text = node.read_file(directory / kRecord, kMaxRecordBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    // The run ended before it did anything else.
    ApplyRequest nothing;
    nothing.run = names.back();
    return std::optional(Transaction(std::move(nothing), {}));
  }
  if (!text) return unusable(text.error());
  const auto value = decode_json(*text);
  if (!value) return unusable(value.error());
  const Value* request = value->find("request");
  const Value* holder = value->find("holder");
  if (request == nullptr || holder == nullptr)
    return unusable({ErrorCode::kFailed, "not a record of sparkplan", {}, {}, ""});
  auto numbered = decode_request(*request);
  if (!numbered) return unusable(std::move(numbered).error());
  auto* apply = std::get_if<ApplyRequest>(&numbered->request);
  if (apply == nullptr || apply->run != names.back())
    return unusable({ErrorCode::kFailed, "it belongs to another change", {}, {}, ""});
  auto decoded = decode<LockHolder>(*holder);
  if (!decoded) return unusable(std::move(decoded).error());
  return std::optional(Transaction(std::move(*apply), std::move(*decoded)));
}

Result<fs::path> Transaction::set_aside(const LocalNode& node) {
  const fs::path aside = std::string(kTransactionsDirectory) + ".damaged-" + utc_now();
  SPARK_CHECK(node.rename(kTransactionsDirectory, aside));
  return aside;
}

Result<Transaction> Transaction::prepare(const ApplyRequest& request, const LockHolder& holder, LocalNode& node) {
  SPARK_TRY(const auto other, find(node));
  if (other) return failure(ErrorCode::kBusy, "another change waits for confirmation: " + other->holder().describe());
  Transaction transaction(request, holder);
  SPARK_CHECK(prepare_state_directory(node));
  SPARK_CHECK(node.make_directories(transaction.directory(), 0700));
  Value record = Value::map({{"request", encode(NumberedRequest{0, request})}, {"holder", encode(holder)}});
  SPARK_CHECK(node.write_file(transaction.directory() / kRecord, private_file(encode_json(record) + "\n")));
  SPARK_CHECK(put_program(transaction.program(), node));
  return transaction;
}

bool Transaction::has(std::string_view name, const LocalNode& node) const {
  return node.status(directory() / name).has_value();
}

Result<TransactionState> Transaction::state(const LocalNode& node) const {
  if (has(kCommitted, node)) return TransactionState::kCommitted;
  // A later try may have undone it.
  if (has(kFailed, node)) return is_undone(node) ? TransactionState::kRolledBack : TransactionState::kRollbackFailed;
  if (has(kRolledBack, node)) return TransactionState::kRolledBack;
  if (has(kArmed, node)) return TransactionState::kArmed;
  // The token was renamed between two of the checks above.
  if (has(kCommitted, node)) return TransactionState::kCommitted;
  if (has(kRolledBack, node)) return TransactionState::kRolledBack;
  return TransactionState::kBegun;
}

Result<TransactionReport> Transaction::report(const LocalNode& node) const {
  TransactionReport report;
  report.run = run();
  SPARK_TRY(report.state, state(node));
  report.who = holder_.describe();
  report.carried_out = has(kCarriedOut, node);
  report.at_work = is_worked_on(node);
  report.undone = is_undone(node);
  if (const auto reason = node.read_file(directory() / kReason)) report.reason = *reason;
  report.manual_commands = lines_in(kCommands, node);
  report.not_restored = lines_in(kNotRestored, node);
  if (report.state == TransactionState::kArmed) {
    report.seconds_left = std::max<std::int64_t>(0, seconds_left(node).value_or(0));
  }
  return report;
}

std::vector<std::string> Transaction::lines_in(std::string_view name, const LocalNode& node) const {
  std::vector<std::string> lines;
  const auto text = node.read_file(directory() / name);
  if (!text) return lines;
  for (const auto line : split_lines(*text)) {
    if (!trim(line).empty()) lines.emplace_back(line);
  }
  return lines;
}

std::optional<std::int64_t> Transaction::seconds_left(const LocalNode& node) const {
  const auto deadline = node.read_file(directory() / kDeadline);
  if (!deadline) return std::nullopt;
  const auto space = deadline->find(' ');
  std::int64_t at = 0;
  const auto* end = deadline->data() + std::min(space, deadline->size());
  if (std::from_chars(deadline->data(), end, at).ec != std::errc()) return std::nullopt;
  const bool of_this_boot = deadline->substr(std::min(space, deadline->size())) == " " + boot_id(node);
  return of_this_boot ? at - seconds_since_boot() : kOfAnEarlierBoot;
}

bool Transaction::is_overdue(const LocalNode& node) const {
  const auto left = seconds_left(node);
  return left && *left < -kGraceForTimer.count();
}

Result<void> Transaction::arm(LocalNode& node) {
  return node.write_file(directory() / kArmed, private_file(boot_id(node) + "\n"));
}

Result<void> Transaction::set_deadline(std::chrono::seconds window, LocalNode& node) {
  return node.write_file(directory() / kDeadline,
                         private_file(std::to_string(seconds_since_boot() + window.count()) + " " + boot_id(node)));
}

Result<bool> Transaction::claim(TransactionState to, const LocalNode& node) {
  const auto renamed = node.rename(directory() / kArmed, directory() / to_string(to));
  if (renamed) return true;
  if (renamed.error().code == ErrorCode::kNotFound) return false;
  return failure(renamed.error());
}

Result<void> Transaction::mark_rollback_failed(const LocalNode& node) {
  if (has(kFailed, node)) return {};
  return node.rename(directory() / kRolledBack, directory() / kFailed);
}

Result<void> Transaction::note_carried_out(LocalNode& node) {
  return node.write_file(directory() / kCarriedOut, private_file(""));
}
Result<void> Transaction::note_reason(const std::string& reason, LocalNode& node) {
  return node.write_file(directory() / kReason, private_file(reason));
}
Result<void> Transaction::note_not_restored(const std::vector<std::string>& parts, LocalNode& node) {
  if (parts.empty()) return {};  // Usual, and the disk may be full.
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    if (lines.size() < kMostNotRestored) lines.push_back(shown_text(part, kLongestNotRestored));
  }
  return node.write_file(directory() / kNotRestored, private_file(join(lines, "\n") + "\n"));
}
Result<void> Transaction::note_undone(LocalNode& node) {
  return node.write_file(directory() / kUndone, private_file(""));
}
Result<void> Transaction::keep_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node) {
  return node.write_file(directory() / kSnapshot, private_file(encode_json(encode(snapshot)) + "\n"));
}

std::optional<ConnectivitySnapshot> Transaction::snapshot(const LocalNode& node) const {
  const auto text = node.read_file(directory() / kSnapshot, kMaxRecordBytes);
  const auto value = text ? decode_json(*text) : Result<Value>(Value());
  auto snapshot = value ? decode<ConnectivitySnapshot>(*value) : Result<ConnectivitySnapshot>(ConnectivitySnapshot());
  return text && snapshot ? std::optional(std::move(*snapshot)) : std::nullopt;
}

bool Transaction::is_undone(const LocalNode& node) const { return has(kUndone, node); }

Result<void> Transaction::keep_manual_commands(const std::vector<std::string>& commands, LocalNode& node) {
  return node.write_file(directory() / kCommands, private_file(join(commands, "\n") + "\n"));
}

Result<void> Transaction::sign_work(const FileDescriptor& file) const {
  const auto pid = std::to_string(::getpid());
  const bool signed_now = ::ftruncate(file.get(), 0) == 0 &&
                          ::pwrite(file.get(), pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  return signed_now ? Result<void>() : failure(file_error("write", directory() / kWorking));
}

bool Transaction::is_worked_on(const LocalNode& node) const {
  const auto file = node.open_descriptor(directory() / kWorking, O_RDONLY | O_NOFOLLOW);
  auto range = lock_of_whole_file(F_RDLCK);
  return file && ::fcntl(file->get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

Result<FileDescriptor> Transaction::begin_work(LocalNode& node) const {
  SPARK_TRY(FileDescriptor file, node.open_descriptor(directory() / kWorking, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  auto range = lock_of_whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_SETLK, &range) != 0) return failure(file_error("lock", directory() / kWorking));
  SPARK_CHECK(sign_work(file));
  return file;
}

Result<std::optional<FileDescriptor>> Transaction::take_over_work(std::chrono::milliseconds patience,
                                                                  LocalNode& node) const {
  SPARK_TRY(auto opened, if_there(node.open_descriptor(directory() / kWorking, O_RDWR | O_CREAT | O_NOFOLLOW, 0600)));
  if (!opened) return std::optional<FileDescriptor>();
  FileDescriptor& file = *opened;
  constexpr std::chrono::milliseconds kPause{50};
  constexpr std::chrono::milliseconds kForTheKernel{5'000};
  bool killed = false;
  for (std::chrono::milliseconds waited{0};; waited += kPause) {
    auto range = lock_of_whole_file(F_WRLCK);
    if (::fcntl(file.get(), F_OFD_SETLK, &range) == 0) break;
    if (waited >= patience + kForTheKernel) return failure(ErrorCode::kFailed, "the running steps do not finish");
    if (waited >= patience && !killed) {
      std::array<char, 32> text{};
      const auto size = ::pread(file.get(), text.data(), text.size(), 0);
      pid_t pid = 0;
      if (size > 0) std::from_chars(text.data(), text.data() + size, pid);
      // The process still holds the lock, so no other process has its number.
      if (pid > 1) ::kill(pid, SIGKILL);
      killed = true;
    }
    node.pause(kPause);
  }
  if (!has(kRecord, node)) return std::optional<FileDescriptor>();
  SPARK_CHECK(sign_work(file));
  return std::optional<FileDescriptor>(std::move(file));
}

Result<void> Transaction::remove(LocalNode& node) const {
  SPARK_TRY(const auto names, node.list_directory(directory()));
  // The record is last: without it there is nothing to finish or undo.
  for (const auto& name : names) {
    if (name != kRecord) SPARK_CHECK(node.remove_file(directory() / name));
  }
  SPARK_CHECK(node.remove_file(directory() / kRecord));
  SPARK_CHECK(node.remove_directory(directory()));
  return node.remove_directory(kTransactionsDirectory);
}

void Transaction::stage_files(const Registry& registry, LocalNode& node) const {
  for (const Step& step : request_.steps) {
    if (auto file = staged_file(step, registry)) node.stage(std::move(*file));
  }
}

}  // namespace sparkplan
