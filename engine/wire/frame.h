#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Both sides send this once before their first frame. Whatever comes before it, such as the output
/// of a login shell's rc file or a password that sudo did not ask for, is noise.
inline constexpr std::string_view kPreamble{"\0\1SPARKPLAN-FRAMES\n", 19};

inline constexpr std::size_t kMaxFrameBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxNoiseBytes = std::size_t{64} << 10;

/// A frame: 4 bytes of big-endian length, then that many bytes of JSON.
/// Errors: kUnsupported when the message is over kMaxFrameBytes.
Result<std::string> encode_frame(const Value& message);

/// Turns a byte stream into messages. Never holds more than one frame and the noise limit.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// The next whole message; nothing when more bytes are needed.
  /// Errors: kInvalidInput, for good: too much noise, a frame over the cap, no JSON.
  Result<std::optional<Value>> next();
  /// What came before the preamble (at most kMaxNoiseBytes): tells why a peer does not speak.
  std::string noise() const { return preamble_seen_ ? noise_ : noise_ + buffer_; }
  bool preamble_seen() const { return preamble_seen_; }

 private:
  Result<void> skip_noise();
  Result<std::optional<Value>> take();

  std::string buffer_;
  std::string noise_;
  bool preamble_seen_ = false;
  std::optional<Error> broken_;
};

}  // namespace sparkplan
