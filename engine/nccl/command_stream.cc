#include "engine/nccl/command_stream.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/wire/frame.h"

namespace sparkplan::nccl {
namespace {

/// The controller sends no command during a measurement, which may take two minutes.
constexpr int kLongestSilenceMs = 300'000;

}  // namespace

// Detached: the thread ends with the process, and never before it.
CommandStream::CommandStream(int input) : input_(input) {
  std::thread([this] { read_all(); }).detach();
}

void CommandStream::read_all() {
  FrameReader reader;
  std::array<char, 16384> buffer{};
  while (true) {
    // A controller that has vanished without closing the connection must not leave a rank on the GPU.
    pollfd waiting{input_, POLLIN, 0};
    if (::poll(&waiting, 1, kLongestSilenceMs) == 0) ::_exit(kInputEndedStatus);
    const auto count = ::read(input_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(kInputEndedStatus);
    reader.feed({buffer.data(), static_cast<std::size_t>(count)});
    while (true) {
      auto message = reader.next();
      if (message && !*message) break;
      auto command = message ? decode<RankCommand>(**message) : Result<RankCommand>(failure(message.error()));
      const std::lock_guard lock(mutex_);
      commands_.push_back(std::move(command));
      arrived_.notify_one();
      if (!message) break;
    }
  }
}

Result<RankCommand> CommandStream::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !commands_.empty(); });
  auto command = std::move(commands_.front());
  commands_.pop_front();
  return command;
}

void send_answer(int output, const RankAnswer& answer) {
  const auto frame = encode_frame(encode(answer));
  std::string_view bytes = frame ? std::string_view(*frame) : std::string_view();
  while (!bytes.empty()) {
    const auto count = ::write(output, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ::_exit(kInputEndedStatus);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace sparkplan::nccl
