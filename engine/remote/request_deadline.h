#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "engine/core/result.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// How long a peer may take over one request, whatever it sends meanwhile.
struct RequestDeadline {
  std::chrono::milliseconds total;    ///< From the first byte of the request to the last of the reply.
  std::chrono::milliseconds silence;  ///< Without a sign of life.
  std::size_t most_progress = 0;      ///< Signs of life that may come; 0: one is an error.
};

/// An apply whose steps install packages ends after that time at the latest, and any other after the shorter one.
inline constexpr std::chrono::hours kLongestPackageApply{2};
inline constexpr std::chrono::hours kLongestApply{1};
/// What one step may take: the sum over the steps is the deadline of an apply.
inline constexpr std::chrono::minutes kLongestPackageStep{60};
inline constexpr std::chrono::minutes kLongestStep{5};
inline constexpr std::chrono::seconds kLongestFileStep{10};

/// The deadline of a request to a peer that answers a simple question within `reply_timeout`:
/// - an apply: 5 times that, and the sum of its steps; on trial no longer than the window and one `reply_timeout`;
/// - what may undo something first (a lock, the end of a trial, a release): 5 times that in all;
/// - measurements that take their time by nature: that much more; everything else: `reply_timeout`.
/// Signs of life are for the first two.
RequestDeadline deadline_of(const Request& request, std::chrono::milliseconds reply_timeout);

/// How large the reply to a request may be.
FrameLimits reply_limits(const Request& request);

/// A deadline that runs. Takes the time from the caller.
class RequestClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RequestClock(const RequestDeadline& deadline, Time now)
      : deadline_(deadline), begun_(now), last_sign_(now), window_(now) {}

  /// Not less than zero.
  std::chrono::milliseconds left(Time now) const;
  bool over(Time now) const { return left(now).count() == 0; }
  /// kUnreachable, with the deadline that has passed.
  Error too_late(Time now) const;

  /// The request is out: from here on the peer's silence counts.
  void note_sent(Time now) { last_sign_ = now; }
  /// A sign of life has come. False: there were too many within a second, and it is not to be shown.
  /// Errors: kFailed where none may come, or no more.
  Result<bool> note_progress(Time now);

 private:
  RequestDeadline deadline_;
  Time begun_;
  Time last_sign_;
  Time window_;  ///< The second in which `in_window_` signs were shown.
  std::size_t in_window_ = 0;
  std::size_t progress_ = 0;
};

}  // namespace sparkplan
