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
///
/// `memory` is the text and 136 bytes for each value in it (kJsonValueWeight). A value takes no more: 88 bytes as an
/// item of a list, 136 as an entry of a map with its key. So while a message is decoded, it takes at most `bytes` (the
/// frame) and `memory` (the values). Then the frame is freed, and a typed message takes at most `memory` again: a
/// struct with more in it than its JSON has is bounded by FieldVisitor::limit_memory() or by its lists.
///
/// Of the 100 MB for one hostile node, the program takes 15 MiB. The rest, with every limit at its end, in MiB:
/// - apply, new facts after a stage: observation 8; plan 13 for the manifest's values and 12 for the changes and steps
///   (a changed field takes 208 bytes for 136 observed ones); what is shown of it 12; new facts as values and typed 26.
/// - apply, the outcomes: manifest 13, observation 8, plan 25, shown 12; outcomes as values and typed 20.
/// - rollback, the request: shown 16 of the steps and 4 of changes; steps 16 and their JSON 16, or that and the frame;
///   manifest 9 and its values in the plan 9, because only text fills the steps to 16.
/// - history NODE --json: 22 of values hold 79,000 artifacts with one field each. An artifact takes 160 bytes typed, at
///   most twice that in a list that has grown, and 500 in the printed JSON: 24 and 38.
/// frame.cc checks these sums. The facts of a machine share the 13 of facts; their absent fields are bounded at Facts.
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
/// The outcomes of steps, or findings about resources. 20,000 outcomes with names of 80 bytes have 3 values each:
/// 20,000 x (3 x 136 + 113) = 10.4 MB.
inline constexpr FrameLimits kOutcomeReply{std::size_t{4} << 20, std::size_t{10} << 20};
/// The steps that undo a run, which are kept for the whole rollback. 10,800 steps with a text of a line have 10 values
/// each: 10,800 x (10 x 136 + 180) = 16.6 MB.
inline constexpr FrameLimits kUndoReply{kMaxFrameBytes, std::size_t{16} << 20};

/// The journals of a node with the artifacts of each run. 50 runs with 500 artifacts of 120 bytes have 4 values for
/// each: 25,000 x (4 x 136 + 120) = 16.6 MB. The rest is for the errors of runs that failed.
inline constexpr FrameLimits kHistoryReply{std::size_t{12} << 20, std::size_t{22} << 20};

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
