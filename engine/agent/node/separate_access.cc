#include "engine/agent/node/separate_access.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/file_descriptor.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatienceAfterKill{1000};
constexpr int kPollMs = 5;

/// The beginning of an answer. Its texts follow in the order of their lengths. Both processes are one program.
struct AnswerHeader {
  bool succeeded = false;
  ErrorCode code = ErrorCode::kBug;
  FileStatus::Kind kind = FileStatus::Kind::kRegular;
  bool has_errno = false;
  int sys_errno = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_at_nanos = 0;
  /// The writer of the ACL and the bytes of the file; after a failure the message and the hint.
  std::array<std::size_t, 2> lengths{};
};

std::string encoded_answer(const Result<HomeAnswer>& answer) {
  AnswerHeader header;
  std::array<std::string_view, 2> texts;
  std::string message;
  header.succeeded = answer.has_value();
  if (answer) {
    const FileStatus& status = answer->status;
    header.kind = status.kind;
    header.mode = status.mode;
    header.uid = status.uid;
    header.gid = status.gid;
    header.size = status.size;
    header.device = status.device;
    header.inode = status.inode;
    header.changed_at_nanos = status.changed_at_nanos;
    texts = {status.acl_writer, answer->bytes};
  } else {
    const Error& error = answer.error();
    header.code = error.code;
    header.has_errno = error.sys_errno.has_value();
    header.sys_errno = error.sys_errno.value_or(0);
    for (const std::string& place : error.context) message += place + ": ";
    message += error.message;
    texts = {message, error.hint};
  }
  header.lengths = {texts[0].size(), texts[1].size()};
  std::string whole(sizeof header, '\0');
  std::memcpy(whole.data(), &header, sizeof header);
  for (const std::string_view text : texts) whole += text;
  return whole;
}

/// Nothing for a part of an answer.
std::optional<Result<HomeAnswer>> answer_in(std::string_view encoded) {
  AnswerHeader header;
  if (encoded.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, encoded.data(), sizeof header);
  encoded.remove_prefix(sizeof header);
  if (encoded.size() != header.lengths[0] + header.lengths[1]) return std::nullopt;
  std::string first(encoded.substr(0, header.lengths[0]));
  std::string second(encoded.substr(header.lengths[0]));
  if (!header.succeeded) {
    Error error = make_error(header.code, std::move(first), std::move(second));
    if (header.has_errno) error.sys_errno = header.sys_errno;
    return Result<HomeAnswer>(failure(std::move(error)));
  }
  HomeAnswer answer;
  answer.status = {header.kind,     header.mode,   header.uid,   header.gid,
                   header.size,     header.device, header.inode, header.changed_at_nanos,
                   std::move(first)};
  answer.bytes = std::move(second);
  return Result<HomeAnswer>(std::move(answer));
}

void close_from_to(int first, int last) {
  if (first > last) return;
  if (::syscall(SYS_close_range, static_cast<unsigned int>(first), static_cast<unsigned int>(last), 0U) == 0) return;
  // A kernel before Linux 5.9.
  const auto most = static_cast<int>(std::min<long>(last, ::sysconf(_SC_OPEN_MAX)));
  for (int descriptor = first; descriptor <= most; ++descriptor) ::close(descriptor);
}

/// The rest of the copy. fork(2) of the C library leaves its memory usable, also if another thread was using it.
[[noreturn]] void do_the_work(const std::function<Result<HomeAnswer>()>& work, int needed, int answer_to,
                              pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);
  const auto [low, high] = std::minmax(needed, answer_to);
  close_from_to(0, low - 1);
  close_from_to(low + 1, high - 1);
  constexpr int kLast = 0x7FFFFFFF;
  close_from_to(high + 1, kLast);
  const bool written = write_fully(answer_to, encoded_answer(work()));
  ::_exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

/// All that comes until the other end is closed; nothing if that takes longer.
std::optional<std::string> read_until(int from, Clock::time_point end) {
  std::string text;
  std::vector<char> buffer(std::size_t{64} << 10);
  while (true) {
    pollfd readable{from, POLLIN, 0};
    const int count = ::poll(&readable, 1, milliseconds_until(end));
    if (count == 0) return std::nullopt;
    if (count < 0 && errno != EINTR) return text;
    if (count < 0) continue;
    const auto length = ::read(from, buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

/// A process that waits in the kernel for a device or a server ends only when the kernel lets it.
void end_process(pid_t process, std::chrono::milliseconds patience) {
  ::kill(process, SIGKILL);
  const auto patience_ends = Clock::now() + patience;
  while (::waitpid(process, nullptr, WNOHANG) == 0 && Clock::now() < patience_ends) ::poll(nullptr, 0, kPollMs);
}

}  // namespace

Result<HomeAnswer> in_separate_process(const std::function<Result<HomeAnswer>()>& work, int needed,
                                       std::chrono::milliseconds deadline) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failure(system_error("make a pipe", errno));
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) return failure(system_error("start a process", errno));
  if (process == 0) do_the_work(work, needed, theirs.get(), parent);
  theirs.replace(-1);
  const auto encoded = read_until(ours.get(), Clock::now() + deadline);
  // A short deadline is part of a short time for many homes.
  end_process(process, std::min(kPatienceAfterKill, deadline / 4));
  if (!encoded) return failure(ErrorCode::kUnreachable, "there was no answer in time");
  auto answer = answer_in(*encoded);
  if (!answer) return failure(ErrorCode::kFailed, "a process that was to access a home ended early");
  return *std::move(answer);
}

}  // namespace sparkplan
