#include "engine/wire/frame.h"

#include <string_view>
#include <utility>

#include "engine/core/json.h"

namespace sparkplan {
namespace {

constexpr std::size_t kHeaderBytes = 4;
/// The memory kept for the next frames; a larger frame's memory is freed.
constexpr std::size_t kUsualBuffer = std::size_t{4} << 10;
/// A frame that grows above this size gets all its memory at once.
constexpr std::size_t kLargeFrame = std::size_t{1} << 20;

// The arithmetic at FrameLimits.
static_assert(sizeof(MapEntry) <= kJsonValueWeight);
static_assert(3 * sizeof(Value) <= 2 * kJsonValueWeight);
constexpr std::size_t kPromised = 100'000'000;
constexpr std::size_t kProgram = std::size_t{15} << 20;
constexpr std::size_t kShownOfRollback = std::size_t{4} << 20;
constexpr std::size_t kChangesOfApply = kObserveReply.memory / 2 * 3;
constexpr std::size_t kPlanOfApply = kFactsReply.memory + kChangesOfApply;
constexpr std::size_t kHeldByApply = kProgram + kObserveReply.memory + kPlanOfApply + kChangesOfApply;
static_assert(kHeldByApply + 2 * kFactsReply.memory < kPromised);
static_assert(kHeldByApply + kFactsReply.memory + 2 * kOutcomeReply.memory < kPromised);
constexpr std::size_t kJournaledArtifacts = kHistoryReply.memory / (2 * kJsonValueWeight);
static_assert(kProgram + kJournaledArtifacts * (2 * 160 + 4 * kJsonValueWeight) < kPromised);
static_assert(kProgram + kShownOfRollback + 3 * kUndoReply.memory + 2 * kFactsReply.bytes < kPromised);

tl::unexpected<Error> too_large(std::size_t size, const FrameLimits& limits) {
  return failure(ErrorCode::kInvalidInput, "it announced a message of " + std::to_string(size) + " bytes; at most " +
                                               std::to_string(limits.bytes) + " are allowed");
}

}  // namespace

Result<std::string> encode_frame(const Value& message, const FrameLimits& limits) {
  // A text that another machine reported can grow to six times its size in JSON. What is over the limit is only
  // counted.
  std::string frame(kHeaderBytes, '\0');
  std::size_t size = 0;
  encode_json(message, -1, [&](std::string_view piece) {
    size += piece.size();
    if (size > limits.bytes) return;
    // Unwritten memory costs nothing, and growing by doubling would cost twice the frame.
    if (size > kLargeFrame && frame.capacity() < limits.bytes) frame.reserve(limits.bytes + kHeaderBytes);
    frame += piece;
  });
  if (size > limits.bytes) {
    return failure(ErrorCode::kUnsupported, "a message of " + std::to_string(size) + " bytes is over the limit of " +
                                                std::to_string(limits.bytes) + " bytes");
  }
  if (const auto memory = size + json_weight(message); memory > limits.memory) {
    return failure(ErrorCode::kUnsupported, "a message that takes " + std::to_string(memory) +
                                                " bytes of memory is over the limit of " +
                                                std::to_string(limits.memory) + " bytes");
  }
  for (std::size_t i = 0; i < kHeaderBytes; ++i) frame[i] = static_cast<char>((size >> (24 - 8 * i)) & 0xffU);
  return frame;
}

void FrameReader::feed(std::string_view bytes) { buffer_ += bytes; }

Result<void> FrameReader::skip_noise() {
  const auto found = buffer_.find(kPreamble);
  if (found != std::string::npos) {
    noise_.append(buffer_, 0, found);
    buffer_.erase(0, found + kPreamble.size());
    preamble_seen_ = true;
  } else if (buffer_.size() >= kPreamble.size()) {
    // The end of the buffer may be the beginning of the preamble.
    const auto certain = buffer_.size() - (kPreamble.size() - 1);
    noise_.append(buffer_, 0, certain);
    buffer_.erase(0, certain);
  }
  if (noise_.size() > kMaxNoiseBytes) {
    noise_.resize(kMaxNoiseBytes);
    return failure(ErrorCode::kInvalidInput, "it printed more than 64 KiB of other output instead of answering");
  }
  return {};
}

Result<std::optional<Value>> FrameReader::next(const FrameLimits& limits) {
  if (broken_) return failure(*broken_);
  auto message = take(limits);
  if (!message) {
    broken_ = message.error();
    buffer_ = std::string();
    taken_ = 0;
  }
  return message;
}

Result<std::optional<Value>> FrameReader::take(const FrameLimits& limits) {
  if (!preamble_seen_) SPARK_CHECK(skip_noise());
  if (!preamble_seen_) return std::optional<Value>();
  const auto rest = std::string_view(buffer_).substr(taken_);
  if (rest.size() < kHeaderBytes) {
    drop_taken();
    return std::optional<Value>();
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) size = (size << 8) | static_cast<unsigned char>(rest[i]);
  if (size > limits.bytes) return too_large(size, limits);
  if (rest.size() < size + kHeaderBytes) {
    drop_taken();
    // Reserved at once: unwritten memory costs nothing, and growing by doubling would cost twice the frame.
    buffer_.reserve(size + kHeaderBytes + kUsualBuffer);
    return std::optional<Value>();
  }
  auto message = decode_json(rest.substr(kHeaderBytes, size), JsonLimits{limits.memory});
  taken_ += size + kHeaderBytes;
  // Not after each frame: a peer may send a million small ones at once, and each time all others would be moved.
  if (taken_ >= buffer_.size() / 2) drop_taken();
  if (!message) return failure(std::move(message).error().within("protocol"));
  return std::optional<Value>(std::move(*message));
}

void FrameReader::drop_taken() {
  if (taken_ == 0) return;
  if (buffer_.capacity() > 2 * kUsualBuffer) {
    buffer_ = buffer_.substr(taken_);
  } else {
    buffer_.erase(0, taken_);
  }
  taken_ = 0;
}

}  // namespace sparkplan
