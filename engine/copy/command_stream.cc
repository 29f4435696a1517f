#include "engine/copy/command_stream.h"

#include <unistd.h>

#include <chrono>
#include <utility>
#include <variant>

#include "engine/carried/controller_stream.h"

namespace sparkplan::copy {
namespace {

constexpr std::chrono::minutes kLongestSilence{2};
/// Commands that were not handled yet. The sender waits meanwhile.
constexpr std::size_t kMostWaiting = 64;

}  // namespace

CommandStream::CommandStream(int input) {
  read_from_controller(input, kLongestSilence, [this](Result<Value> message) {
    auto command = message ? decode<CopyCommand>(*message) : Result<CopyCommand>(failure(std::move(message).error()));
    const bool is_last = command && std::holds_alternative<CopyJoin>(*command);
    put(std::move(command));
    // Bytes after this command belong to the relay. This thread must not read them.
    if (!is_last) return;
    while (true) ::pause();
  });
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
