// Logging in by password to the test's own sshd; some servers are slow, some hostile.
#include "engine/remote/transport/transport.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using test::HomeWithoutKeys;
using test::Sshd;

constexpr std::chrono::seconds kLong{60};
/// Long enough for the key exchange on a busy machine.
constexpr std::chrono::seconds kShort{3};

}  // namespace

TEST_CASE("login: a server that asks for the password receives it once") {
  const HomeWithoutKeys home;
  CHECK(Sshd(test::ask_as_pam_does).log_in(test::kSshdPassword, kLong));
  const auto refused = Sshd(test::ask_as_pam_does).log_in("wrong", kLong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kPermissionDenied);
}

TEST_CASE("login: a server that repeatedly asks for nothing is disconnected") {
  const HomeWithoutKeys home;
  const auto refused = Sshd([](ssh_session, ssh_message message) {
                         test::ask_for_password(message, 0);
                       }).log_in(test::kSshdPassword, kLong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kPermissionDenied);
}

TEST_CASE("login: a server that never accepts or rejects the password times out") {
  const HomeWithoutKeys home;
  const auto late = Sshd([](ssh_session, ssh_message) {}).log_in(test::kSshdPassword, kShort);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::kUnreachable);
  CHECK(late.error().message == "log in: nvidia@127.0.0.1 did not accept or reject the password in time");
}

TEST_CASE("login: a stop interrupts a login while the server is silent") {
  const HomeWithoutKeys home;
  std::stop_source stop;
  const Sshd silent([&](ssh_session, ssh_message) { stop.request_stop(); });
  const auto stopped = silent.log_in(test::kSshdPassword, kLong, stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kInterrupted);
}

}  // namespace sparkplan
