#include "engine/copy/command_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "engine/wire/frame.h"

namespace sparkplan::copy {
namespace {

constexpr int kLongestSilenceMs = 120'000;
/// Commands that were not handled yet. The sender waits meanwhile.
constexpr std::size_t kMostWaiting = 64;

}  // namespace

// Detached: the thread ends with the process, and never before it.
CommandStream::CommandStream(int input) : input_(input) {
  std::thread([this] { read_all(); }).detach();
}

void CommandStream::read_all() {
  FrameReader reader;
  std::string buffer(std::size_t{1} << 16, '\0');
  while (true) {
    pollfd waiting{input_, POLLIN, 0};
    if (::poll(&waiting, 1, kLongestSilenceMs) == 0) ::_exit(kInputEndedStatus);
    const auto count = ::read(input_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(kInputEndedStatus);
    reader.feed({buffer.data(), static_cast<std::size_t>(count)});
    while (true) {
      auto message = reader.next();
      if (message && !*message) break;
      put(message ? decode<CopyCommand>(**message) : Result<CopyCommand>(failure(message.error())));
      if (!message) return;
    }
  }
}

void CommandStream::put(Result<CopyCommand> command) {
  // A sign of life is none to wait for.
  if (command && std::holds_alternative<CopyAlive>(*command)) return;
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return commands_.size() < kMostWaiting; });
  commands_.push_back(std::move(command));
  arrived_.notify_all();
}

Result<CopyCommand> CommandStream::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !commands_.empty(); });
  auto command = std::move(commands_.front());
  commands_.pop_front();
  arrived_.notify_all();
  return command;
}

}  // namespace sparkplan::copy
