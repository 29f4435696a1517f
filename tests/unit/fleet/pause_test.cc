#include <chrono>
#include <thread>

#include "engine/fleet/session/fleet_session.h"
#include "tests/support/catch.h"

namespace sparkplan {

using Clock = std::chrono::steady_clock;

TEST_CASE("a pause lasts for its full time") {
  const auto begin = Clock::now();
  CHECK(pause_unless_stopped(std::chrono::milliseconds(30), {}));
  CHECK(Clock::now() - begin >= std::chrono::milliseconds(30));
}

TEST_CASE("a pause ends at a stop request, before it or during it") {
  constexpr std::chrono::hours kPause(1);
  std::stop_source stop;
  const auto begin = Clock::now();
  const std::jthread asks([&] { stop.request_stop(); });
  CHECK_FALSE(pause_unless_stopped(kPause, stop.get_token()));
  CHECK_FALSE(pause_unless_stopped(kPause, stop.get_token()));
  CHECK(Clock::now() - begin < kPause);
}

}  // namespace sparkplan
