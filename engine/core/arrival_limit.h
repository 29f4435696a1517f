#pragma once

#include <chrono>

namespace sparkplan {

/// Bounds the work that arrivals at one socket cause, whatever strangers send. After `most` arrivals in one window, the
/// socket is not read until the window's end. The time for which its owner reads then bounds the total.
class ArrivalLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kWindow{10};

  explicit ArrivalLimit(int most) : most_(most) {}

  /// Notes one arrival. The first one after a window begins the next window.
  void count(Time now) {
    if (now >= end_) {
      end_ = now + kWindow;
      arrived_ = 0;
    }
    ++arrived_;
  }

  /// How long the socket must not be read; zero if it may be. Rounded up: a wait of zero would spin.
  std::chrono::milliseconds pause(Time now) const {
    if (arrived_ < most_ || now >= end_) return std::chrono::milliseconds(0);
    return std::chrono::ceil<std::chrono::milliseconds>(end_ - now);
  }

 private:
  int most_;
  int arrived_ = 0;
  Time end_{};
};

}  // namespace sparkplan
