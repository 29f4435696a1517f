#include "engine/wire/frame.h"

#include <cstdint>

#include "engine/core/json.h"

namespace sparkplan {

Result<std::string> encode_frame(const Value& message) {
  std::string body = encode_json(message);
  if (body.size() > kMaxFrameBytes) {
    return failure(ErrorCode::kUnsupported, "a message of " + std::to_string(body.size()) + " bytes is over the limit");
  }
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string frame;
  frame.reserve(body.size() + 4);
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>((size >> shift) & 0xffU));
  frame += body;
  return frame;
}

void FrameReader::feed(std::string_view bytes) { buffer_ += bytes; }

Result<void> FrameReader::skip_noise() {
  const auto found = buffer_.find(kPreamble);
  if (found != std::string::npos) {
    noise_ += buffer_.substr(0, found);
    buffer_.erase(0, found + kPreamble.size());
    preamble_seen_ = true;
  } else if (buffer_.size() >= kPreamble.size()) {
    // The end of the buffer may hold the beginning of the preamble.
    const auto certain = buffer_.size() - (kPreamble.size() - 1);
    noise_ += buffer_.substr(0, certain);
    buffer_.erase(0, certain);
  }
  if (noise_.size() > kMaxNoiseBytes) {
    noise_.resize(kMaxNoiseBytes);
    return failure(ErrorCode::kInvalidInput, "it printed more than 64 KiB of something else instead of answering");
  }
  return {};
}

Result<std::optional<Value>> FrameReader::next() {
  if (broken_) return failure(*broken_);
  auto message = take();
  if (!message) broken_ = message.error();
  return message;
}

Result<std::optional<Value>> FrameReader::take() {
  if (!preamble_seen_) SPARK_CHECK(skip_noise());
  if (!preamble_seen_ || buffer_.size() < 4) return std::optional<Value>();
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = (size << 8) | static_cast<unsigned char>(buffer_[i]);
  if (size > kMaxFrameBytes) {
    return failure(ErrorCode::kInvalidInput, "it announced a message of " + std::to_string(size) + " bytes");
  }
  if (buffer_.size() < size + 4) return std::optional<Value>();
  auto message = decode_json(std::string_view(buffer_).substr(4, size));
  buffer_.erase(0, size + 4);
  if (!message) return failure(std::move(message).error().within("protocol"));
  return std::optional<Value>(std::move(*message));
}

}  // namespace sparkplan
