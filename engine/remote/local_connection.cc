#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/process/child_process.h"
#include "engine/process/own_user.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/remote/transport/here.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

class LocalChannel final : public Channel {
 public:
  explicit LocalChannel(ChildProcess child) : child_(std::move(child)) {}

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    std::array<pollfd, 2> streams{{{child_.standard_output(), POLLIN, 0}, {child_.standard_error(), POLLIN, 0}}};
    if (standard_error_ended_) streams[1].fd = -1;
    if (::poll(streams.data(), streams.size(), static_cast<int>(patience.count())) <= 0) return std::size_t{0};
    if (streams[1].revents != 0) collect_standard_error();
    if (error_bytes_ > kStandardErrorFlood) {
      return failure(ErrorCode::kFailed, "the agent printed more than " + std::to_string(kStandardErrorFlood >> 20U) +
                                             " MiB on standard error");
    }
    if (streams[0].revents == 0) return std::size_t{0};
    std::array<char, 32768> buffer{};
    const auto count = ::read(child_.standard_output(), buffer.data(), buffer.size());
    if (count < 0) return failure(system_error("read from the agent", errno));
    if (count == 0) {
      collect_standard_error();
      return failure(ErrorCode::kNotFound, "end of stream");
    }
    into.append(buffer.data(), static_cast<std::size_t>(count));
    return static_cast<std::size_t>(count);
  }

  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    const auto end = Clock::now() + deadline;
    while (!bytes.empty()) {
      pollfd writable{child_.standard_input(), POLLOUT, 0};
      const bool takes = ::poll(&writable, 1, 50) > 0;
      if (Clock::now() >= end) return failure(ErrorCode::kUnreachable, "the agent accepts no more input");
      if (!takes) continue;
      const auto written = ::write(child_.standard_input(), bytes.data(), std::min<std::size_t>(bytes.size(), 4096));
      if (written < 0) return failure(ErrorCode::kUnreachable, "the agent ended");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  void close_input() override { child_.close_standard_input(); }
  std::optional<int> exit_status() override { return child_.wait(std::chrono::seconds(2)); }
  const std::string& standard_error() const override { return standard_error_; }

 private:
  void collect_standard_error() {
    std::array<char, 4096> buffer{};
    pollfd readable{child_.standard_error(), POLLIN, 0};
    if (::poll(&readable, 1, 0) <= 0) return;
    const auto count = ::read(child_.standard_error(), buffer.data(), buffer.size());
    if (count <= 0) {
      standard_error_ended_ = true;
      return;
    }
    error_bytes_ += static_cast<std::size_t>(count);
    const auto room = kMaxStandardError - standard_error_.size();
    standard_error_.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  }

  ChildProcess child_;
  std::string standard_error_;
  std::size_t error_bytes_ = 0;
  bool standard_error_ended_ = false;
};

/// An embedded program as an executable file without a name, so that no file is left behind.
Result<int> in_memory(const std::optional<ProgramImage>& image, const char* name) {
  if (!image)
    return failure(ErrorCode::kUnsupported, "this build contains no " + std::string(name) + " for this machine");
  const int file = ::memfd_create(name, MFD_CLOEXEC);
  if (file < 0) return failure(system_error("load a program into memory", errno));
  auto bytes = image->bytes;
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) return failure(system_error("load a program into memory", errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  // A file that any process has open for writing cannot be executed.
  const int executable = ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  ::close(file);
  if (executable < 0) return failure(system_error("load a program into memory", error));
  return executable;
}

std::string own_architecture() {
  utsname machine{};
  ::uname(&machine);
  return machine.machine;
}

Result<int> agent_in_memory() {
  static const auto descriptor = in_memory(agent_image(own_architecture()), "sparkplan-agent");
  return descriptor;
}

Result<int> nccl_rank_in_memory() {
  static const auto descriptor = in_memory(nccl_rank_image(own_architecture()), "sparkplan-nccl");
  return descriptor;
}

Result<int> job_in_memory() {
  static const auto descriptor = in_memory(job_image(own_architecture()), "sparkplan-job");
  return descriptor;
}

Result<int> copy_in_memory() {
  static const auto descriptor = in_memory(copy_image(own_architecture()), "sparkplan-copy");
  return descriptor;
}

/// sparkplan-copy works on the paths of the machine itself.
class HereConnection final : public Connection {
 public:
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation) override {
    if (program != RemoteProgram::kCopy) {
      return failure(ErrorCode::kUnsupported, "this machine takes part in a sync only");
    }
    SPARK_TRY(const int file, copy_in_memory());
    SPARK_TRY(auto child, ChildProcess::start("/proc/self/fd/" + std::to_string(file), {"--stdio"}));
    return std::make_unique<LocalChannel>(std::move(child));
  }

  std::string host_key() const override { return ""; }
};

class LocalConnection final : public Connection {
 public:
  explicit LocalConnection(std::filesystem::path root) : root_(std::move(root)) {}

  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation) override {
    const bool agent = program == RemoteProgram::kAgent;
    const bool job = program == RemoteProgram::kJob;
    if (!agent && !job && program != RemoteProgram::kNcclRank) {
      return failure(ErrorCode::kUnsupported, "a local node needs nothing installed");
    }
    SPARK_TRY(const int file, agent ? agent_in_memory() : job ? job_in_memory() : nccl_rank_in_memory());
    std::vector<std::string> arguments{"--stdio"};
    if (agent) arguments.insert(arguments.end(), {"--root", root_.string()});
    SPARK_TRY(auto child, ChildProcess::start("/proc/self/fd/" + std::to_string(file), arguments));
    return std::make_unique<LocalChannel>(std::move(child));
  }

  std::string host_key() const override { return ""; }

 private:
  std::filesystem::path root_;
};

}  // namespace

std::unique_ptr<Connection> connect_here() { return std::make_unique<HereConnection>(); }

Result<std::unique_ptr<Connection>> connect_local(const NodeSpec& node, const ConnectOptions&) {
  std::error_code code;
  const auto root = std::filesystem::canonical(expand_home(node.root.string()), code);
  if (code || !std::filesystem::is_directory(root, code)) {
    return failure(ErrorCode::kUnreachable, "there is no directory " + node.root.string());
  }
  if (root == "/") {
    return failure(ErrorCode::kUnsupported, "the root of a local node must be a directory tree other than /");
  }
  return std::make_unique<LocalConnection>(root);
}

}  // namespace sparkplan
