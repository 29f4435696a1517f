#pragma once

#include <chrono>
#include <cstddef>

#include "engine/core/result.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// The longest time that a peer may take for one request, regardless of the messages that it sends meanwhile.
struct RequestDeadline {
  std::chrono::milliseconds total;    ///< From the first byte of the request to the last of the reply.
  std::chrono::milliseconds silence;  ///< Without a message from the peer.
  std::size_t most_progress = 0;      ///< The most progress messages; 0: each is an error.
};

/// The longest apply with steps that install packages; the shorter limit is for all others.
inline constexpr std::chrono::hours kLongestPackageApply{2};
inline constexpr std::chrono::hours kLongestApply{1};
/// The longest time of one step. The deadline of an apply is the sum over its steps.
inline constexpr std::chrono::minutes kLongestPackageStep{60};
inline constexpr std::chrono::minutes kLongestStep{5};
inline constexpr std::chrono::seconds kLongestFileStep{10};

/// The deadline of a request to a peer that answers a simple request within `reply_timeout`:
/// - an apply: 5 times that, plus the sum of its steps; on trial at most two fifths of the window;
/// - requests that may undo a change first (a lock, the end of a trial, a release): 5 times that in all;
/// - measurements with a known duration: that much more; all others: `reply_timeout`.
/// Progress messages are accepted for the first two.
RequestDeadline deadline_of(const Request& request, std::chrono::milliseconds reply_timeout);

/// The largest reply to a request.
FrameLimits reply_limits(const Request& request);

/// A running deadline. The caller passes in the current time.
class RequestClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RequestClock(const RequestDeadline& deadline, Time now)
      : deadline_(deadline), begun_(now), last_sign_(now), window_(now) {}

  /// Never negative.
  std::chrono::milliseconds left(Time now) const;
  bool over(Time now) const { return left(now).count() == 0; }
  /// kUnreachable, with the deadline that has passed.
  Error too_late(Time now) const;

  /// The request is sent: the silence of the peer is measured from here.
  void note_sent(Time now) { last_sign_ = now; }
  /// A progress message has arrived. False: more came within a second than are printed, so this one is not.
  /// Errors: kFailed if none is accepted, or no more.
  Result<bool> note_progress(Time now);

 private:
  RequestDeadline deadline_;
  Time begun_;
  Time last_sign_;
  Time window_;  ///< The second in which `in_window_` progress messages were printed.
  std::size_t in_window_ = 0;
  std::size_t progress_ = 0;
};

}  // namespace sparkplan
