#include "engine/process/child_process.h"

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
#include <cstdlib>
#include <system_error>
#include <utility>

// Boost defines it only for some systems, and declares posix::use_vfork for all.
#define BOOST_POSIX_HAS_VFORK 1
// The headers of Boost 1.74 cause some of our warnings.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <boost/process/child.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/group.hpp>
#include <boost/process/posix.hpp>
#pragma GCC diagnostic pop

#include "engine/core/file_descriptor.h"

namespace sparkplan {
namespace {

namespace bp = boost::process;
using Clock = std::chrono::steady_clock;

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

/// Close-on-exec from the start: otherwise the child of another thread would keep our ends open.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failure(system_error("make a pipe", errno));
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

int milliseconds_left(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left, 1 << 30));
}

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const char* directory : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
    auto candidate = std::string(directory) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// The argument vector of execve(): the program's name, the arguments, a null. Points into both parameters.
std::vector<char*> argument_vector(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> words{const_cast<char*>(program.c_str())};  // execve() changes none of them.
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  return words;
}

/// Blocks all signals of this thread during its lifetime.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { restore(); }
  void restore() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

struct ChildProcess::Impl {
  bp::child child;
  bp::group group;
  FileDescriptor input;
  FileDescriptor output;
  FileDescriptor error;
  FileDescriptor pid_descriptor;
  std::optional<int> exit_status;
};

ChildProcess::ChildProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChildProcess::ChildProcess(ChildProcess&&) noexcept = default;
ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    if (impl_) kill();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
ChildProcess::~ChildProcess() {
  if (impl_) kill();
}

Result<ChildProcess> ChildProcess::start(const std::string& program, const std::vector<std::string>& arguments,
                                         bool ends_with_us) {
  SPARK_TRY(Pipe input, make_pipe());
  SPARK_TRY(Pipe output, make_pipe());
  SPARK_TRY(Pipe error, make_pipe());
  auto impl = std::make_unique<Impl>();
  std::error_code code;
  // With vfork the child shares our memory until the exec, so a start takes no longer in a large process. A signal
  // handler of this program must not run in the child meanwhile.
  const BlockedSignals blocked;
  // Boost's own bp::args reads the first character of each argument, which an empty argument lacks.
  auto words = argument_vector(program, arguments);
  const auto with_arguments = [&words](auto& executor) { executor.cmd_line = words.data(); };
  const pid_t parent = ::getpid();
  const auto before_exec = [&blocked, parent, ends_with_us](auto& /*executor*/) {
    if (ends_with_us) {
      // Source: prctl(2); the exec keeps it, unless the program is setuid.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(EXIT_FAILURE);
    }
    // Ignored signals stay ignored across an exec. A script that writes to an ended reader would never end.
    ::signal(SIGPIPE, SIG_DFL);
    blocked.restore();
  };
  // With vfork, Boost does not reap a child whose exec failed.
  const auto reap = [](auto& executor, const std::error_code& /*error*/) {
    if (executor.pid > 0) ::waitpid(executor.pid, nullptr, 0);
  };
  impl->child = bp::child(bp::exe = program, bp::posix::use_vfork, bp::extend::on_setup(with_arguments),
                          bp::extend::on_exec_setup(before_exec), bp::extend::on_error(reap),
                          bp::posix::fd.bind(0, input.read_end.get()), bp::posix::fd.bind(1, output.write_end.get()),
                          bp::posix::fd.bind(2, error.write_end.get()), impl->group, code);
  if (code) {
    auto reason = system_error("start " + program, code.value());
    if (code.value() == ENOENT) reason.code = ErrorCode::kNotFound;
    return failure(std::move(reason));
  }
  impl->pid_descriptor = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, impl->child.id(), 0)));
  impl->input = std::move(input.write_end);
  impl->output = std::move(output.read_end);
  impl->error = std::move(error.read_end);
  return ChildProcess(std::move(impl));
}

int ChildProcess::standard_input() const { return impl_->input.get(); }
int ChildProcess::standard_output() const { return impl_->output.get(); }
int ChildProcess::standard_error() const { return impl_->error.get(); }
void ChildProcess::close_standard_input() { impl_->input.replace(-1); }

std::optional<int> ChildProcess::wait(std::chrono::milliseconds deadline) {
  if (impl_->exit_status) return impl_->exit_status;
  constexpr int kPauseMs = 5;
  constexpr int kUnknownStatus = 255;
  const auto end = Clock::now() + deadline;
  pollfd ended{impl_->pid_descriptor.get(), POLLIN, 0};
  while (true) {
    const int left = milliseconds_left(end);
    // Without the child's descriptor (this process may have too many open files), waitpid() is called at intervals.
    const bool has_ended = ::poll(&ended, 1, ended.fd < 0 ? std::min(left, kPauseMs) : left) > 0;
    int wait_status = 0;
    const pid_t reaped = ::waitpid(impl_->child.id(), &wait_status, WNOHANG);
    if (reaped != 0) {
      // A caller takes 0 for a success. Where SIGCHLD is ignored, the system keeps no status.
      note_end(reaped > 0 ? exit_status_of(wait_status) : kUnknownStatus);
      return impl_->exit_status;
    }
    if (Clock::now() >= end) return std::nullopt;
    if (has_ended) ::poll(nullptr, 0, std::min(left, kPauseMs));  // A debugger learns of the end first.
  }
}

/// Boost must not wait again: its own timed waits rely on SIGCHLD.
void ChildProcess::note_end(int exit_status) {
  impl_->child.detach();
  impl_->group.detach();
  impl_->exit_status = exit_status;
}

void ChildProcess::kill(std::chrono::milliseconds patience) {
  if (impl_->exit_status) return;
  // The child has its own process group, so its subprocesses are killed too.
  ::kill(-impl_->child.id(), SIGKILL);
  ::kill(impl_->child.id(), SIGKILL);
  // A child that waits in the kernel for a device or a server ends only when the kernel lets it.
  if (!wait(patience)) note_end(128 + SIGKILL);
}

namespace {

struct Stream {
  int descriptor;
  std::string* text;
  bool* cut_off;
};

/// While an object exists, writing to an ended program is an error of write(), without a signal to this thread.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

/// Writes as much as the pipe takes at once. False when all is written or the reader has closed the pipe.
bool feed(int descriptor, std::string_view& text) {
  const NoSigpipe no_signal;
  const auto count = ::write(descriptor, text.data(), text.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.remove_prefix(static_cast<std::size_t>(count));
  return !text.empty();
}

/// Reads the available bytes; false at the end of the stream.
bool drain(const Stream& stream, std::size_t max_bytes) {
  std::array<char, 16384> buffer{};
  const auto count = ::read(stream.descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  const auto room = max_bytes - std::min(max_bytes, stream.text->size());
  const auto size = static_cast<std::size_t>(count);
  stream.text->append(buffer.data(), std::min(room, size));
  *stream.cut_off = *stream.cut_off || size > room;
  return true;
}

}  // namespace

Result<CapturedOutput> run_and_capture(std::span<const std::string> argv, const CaptureLimits& limits) {
  SPARK_TRY(auto child, start_to_capture(argv, limits.ends_with_us));
  return wait_and_capture(std::move(child), argv[0], limits);
}

Result<ChildProcess> start_to_capture(std::span<const std::string> argv, bool ends_with_us) {
  if (argv.empty()) return failure(ErrorCode::kBug, "a command needs a program");
  const auto program = find_program(argv[0]);
  if (!program) return failure(ErrorCode::kNotFound, "there is no program " + argv[0]);
  return ChildProcess::start(*program, {argv.begin() + 1, argv.end()}, ends_with_us);
}

Result<CapturedOutput> wait_and_capture(ChildProcess child, const std::string& name, const CaptureLimits& limits) {
  std::string_view input = limits.standard_input;
  if (input.empty()) child.close_standard_input();
  // A program that prints before it reads must not wait for us while we wait for it.
  if (!input.empty()) ::fcntl(child.standard_input(), F_SETFL, O_WRONLY | O_NONBLOCK);
  const auto end = Clock::now() + limits.deadline;
  CapturedOutput result;
  bool errors_cut_off = false;  // Not reported: standard error beyond the limit is dropped silently.
  std::vector<Stream> open{{child.standard_output(), &result.standard_output, &result.cut_off},
                           {child.standard_error(), &result.standard_error, &errors_cut_off}};
  auto next_sign = Clock::now() + limits.sign_of_life_interval;
  while (!open.empty()) {
    std::vector<pollfd> waiting;
    for (const auto& stream : open) waiting.push_back({stream.descriptor, POLLIN, 0});
    if (child.standard_input() >= 0) waiting.push_back({child.standard_input(), POLLOUT, 0});
    ::poll(waiting.data(), waiting.size(), milliseconds_left(limits.sign_of_life ? std::min(end, next_sign) : end));
    if (limits.sign_of_life && Clock::now() >= next_sign) {
      limits.sign_of_life();
      next_sign = Clock::now() + limits.sign_of_life_interval;
    }
    if (child.standard_input() >= 0 && waiting.back().revents != 0 && !feed(child.standard_input(), input))
      child.close_standard_input();
    for (std::size_t i = open.size(); i-- > 0;) {
      if (waiting[i].revents != 0 && !drain(open[i], limits.max_bytes)) {
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (Clock::now() >= end) break;
  }
  child.close_standard_input();
  const auto status = child.wait(std::chrono::milliseconds(milliseconds_left(end)));
  if (!status) {
    child.kill();
    return failure(ErrorCode::kUnreachable, name + " did not end in time and was killed");
  }
  result.exit_status = *status;
  return result;
}

}  // namespace sparkplan
