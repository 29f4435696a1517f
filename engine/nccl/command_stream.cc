#include "engine/nccl/command_stream.h"

#include <chrono>
#include <utility>

#include "engine/carried/controller_stream.h"

namespace sparkplan::nccl {
namespace {

/// The controller sends no command during a measurement, which may take two minutes.
constexpr std::chrono::minutes kLongestSilence{5};

}  // namespace

CommandStream::CommandStream(int input) {
  read_from_controller(input, kLongestSilence, [this](Result<Value> message) {
    put(message ? decode<RankCommand>(*message) : Result<RankCommand>(failure(std::move(message).error())));
  });
}

void CommandStream::put(Result<RankCommand> command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(std::move(command));
  arrived_.notify_one();
}

Result<RankCommand> CommandStream::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !commands_.empty(); });
  auto command = std::move(commands_.front());
  commands_.pop_front();
  return command;
}

// An answer that fits into no frame is not sent: those of a rank are small.
void send_answer(int output, const RankAnswer& answer) { (void)send_to_controller(output, encode(answer)); }

}  // namespace sparkplan::nccl
