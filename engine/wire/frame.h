#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Both sides send this once before their first frame. Bytes before it are noise, such as the output of a login shell's
/// rc file or a password that sudo did not need.
inline constexpr std::string_view kPreamble{"\0\1SPARKPLAN-FRAMES\n", 19};

inline constexpr std::size_t kMaxFrameBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxNoiseBytes = std::size_t{64} << 10;

/// The most memory of a decoded message, counted as in JsonLimits.
inline constexpr std::size_t kMaxMessageMemory = std::size_t{32} << 20;

/// The limits of the next message. If a peer announces a larger one, it is refused before its bytes arrive.
struct FrameLimits {
  std::size_t bytes = kMaxFrameBytes;
  std::size_t memory = kMaxMessageMemory;
};
/// For messages with a few fields: greetings, locks, probes, measurements.
inline constexpr FrameLimits kSmallMessage{std::size_t{256} << 10, std::size_t{2} << 20};

/// Facts, with the manifest and an observation. A manifest.json has up to 8 MiB with its indentation; the agent leaves
/// the observation out if both do not fit.
inline constexpr FrameLimits kFactsReply{std::size_t{9} << 20, std::size_t{13} << 20};
/// An observation. A cluster.yaml and the files beside it have up to 2 MiB, and a node reports a text at most twice.
/// The files that they replace can have more: then the agent reports an error in place of the largest ones.
inline constexpr FrameLimits kObserveReply{std::size_t{5} << 20, std::size_t{8} << 20};
/// The outcomes of steps, or findings about resources: 20,000 steps with a name each.
inline constexpr FrameLimits kOutcomeReply{std::size_t{4} << 20, std::size_t{16} << 20};

/// A frame: 4 bytes of big-endian length, then that many bytes of JSON.
/// Errors: kUnsupported, with the limit, when the message is over `limits`.
Result<std::string> encode_frame(const Value& message, const FrameLimits& limits = {});

/// Turns a byte stream into messages. Never holds more than one frame, the noise limit and twice the latest input.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// The next whole message; nothing when more bytes are needed.
  /// Errors: kInvalidInput, for good: too much noise, a frame over `limits`, invalid JSON.
  Result<std::optional<Value>> next(const FrameLimits& limits = {});
  /// The bytes before the preamble (at most kMaxNoiseBytes). They explain why a peer does not speak the protocol.
  std::string noise() const { return preamble_seen_ ? noise_ : noise_ + buffer_; }
  bool preamble_seen() const { return preamble_seen_; }

 private:
  Result<void> skip_noise();
  Result<std::optional<Value>> take(const FrameLimits& limits);
  void drop_taken();

  std::string buffer_;
  std::size_t taken_ = 0;  ///< The first bytes of `buffer_`: of frames that were returned.
  std::string noise_;
  bool preamble_seen_ = false;
  std::optional<Error> broken_;
};

}  // namespace sparkplan
