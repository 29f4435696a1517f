// Attacks of an SSH server on its client.
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdio>

#include "engine/core/text.h"
#include "engine/remote/ssh/host_keys.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HomeWithoutKeys;
using test::RawServer;
using test::Sshd;

/// Long enough for the key exchange on a busy machine.
constexpr seconds kTimeout{3};
constexpr seconds kFarTooLong{30};
constexpr std::uint32_t kRubbish = 32000;

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

/// Sends `bytes` repeatedly until the client stops reading; a pause slows the stream to a trickle.
auto sending(const std::string& greeting, const std::string& bytes, milliseconds pause) {
  return [=](int socket, const std::stop_token& stop) {
    (void)!::send(socket, greeting.data(), greeting.size(), MSG_NOSIGNAL);
    while (!stop.stop_requested()) {
      pollfd writable{socket, POLLOUT, 0};
      if (::poll(&writable, 1, 50) <= 0) continue;
      if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
      if (pause.count() > 0) ::poll(nullptr, 0, static_cast<int>(pause.count()));
    }
  };
}

/// Runs `act` once, when its client starts the first program.
test::OnMessage on_program(std::function<void(ssh_session, ssh_channel)> act) {
  auto channel = std::make_shared<ssh_channel>(nullptr);
  return [channel, act = std::move(act)](ssh_session session, ssh_message message) {
    if (ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN) {
      *channel = ssh_message_channel_request_open_reply_accept(message);
    } else if (ssh_message_type(message) == SSH_REQUEST_CHANNEL) {
      ssh_message_channel_request_reply_success(message);
      act(session, *channel);
    }
  };
}

Result<std::unique_ptr<Channel>> started(Result<std::unique_ptr<Connection>>& connection) {
  REQUIRE(connection);
  return (*connection)->start(RemoteProgram::kAgent, Elevation::kNone);
}

/// The error that ends the reading.
Error read_to_the_end(Channel& channel, std::size_t& read) {
  const auto end = now() + kFarTooLong;
  while (now() < end) {
    std::string bytes;
    const auto count = channel.read_some(bytes, milliseconds(200));
    if (!count) return count.error();
    read += *count;
  }
  return Error{ErrorCode::kBug, "it never ended", {}, std::nullopt, ""};
}

}  // namespace

TEST_CASE("ssh: a peer that is no SSH server times out, whatever it sends") {
  const HomeWithoutKeys home;
  const std::string banner = "SSH-2.0-OpenSSH_9.6\r\n";
  struct Case {
    const char* name;
    std::string greeting;
    std::string bytes;
    milliseconds pause;
  };
  for (const Case& one : {Case{"a banner without an end", "", std::string(4096, 'x'), milliseconds(0)},
                          Case{"lines without an end", "", std::string(60, 'x') + "\n", milliseconds(0)},
                          Case{"a banner byte by byte", "", "S", milliseconds(100)},
                          Case{"a key exchange byte by byte", banner, std::string(1, '\0'), milliseconds(100)},
                          Case{"rubbish after the banner", banner, std::string(4096, '\xff'), milliseconds(0)},
                          Case{"nothing", "", "", milliseconds(100)}}) {
    DYNAMIC_SECTION(one.name) {
      const RawServer server(sending(one.greeting, one.bytes, one.pause));
      const auto begun = now();
      const auto key = offered_host_key(server.node(), {seconds(1), {}});
      REQUIRE_FALSE(key);
      CHECK(key.error().code == ErrorCode::kUnreachable);
      CHECK(now() - begun < seconds(10));
      CHECK(key.error().describe().size() < 500);
    }
  }
}

TEST_CASE("ssh: a server that never answers a request for a channel or a program times out") {
  const HomeWithoutKeys home;
  const bool opens = GENERATE(false, true);
  const Sshd silent(test::ask_as_pam_does, [opens](ssh_session session, ssh_message message) {
    if (opens && ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN) test::serve_programs(session, message);
  });
  auto connection = silent.log_in(test::kSshdPassword, kTimeout);
  const auto begun = now();
  const auto channel = started(connection);
  REQUIRE_FALSE(channel);
  CHECK(channel.error().code == ErrorCode::kUnreachable);
  CHECK(now() - begun < 2 * kTimeout);
}

TEST_CASE("ssh: endless standard error is discarded, and fails the node") {
  const HomeWithoutKeys home;
  const auto cost = test::cost_of([] {
    const Sshd flooding(test::ask_as_pam_does, on_program([](ssh_session, ssh_channel channel) {
                          const std::string rubbish(kRubbish, '#');
                          while (ssh_channel_write_stderr(channel, rubbish.data(), kRubbish) > 0) continue;
                        }));
    auto connection = flooding.log_in(test::kSshdPassword, kTimeout);
    auto channel = started(connection);
    if (!channel) return false;
    std::size_t read = 0;
    const auto error = read_to_the_end(**channel, read);
    const bool kept_little = (*channel)->standard_error().size() == kMaxStandardError;
    connection->reset();
    return kept_little && error.code == ErrorCode::kFailed &&
           error.message == "the node printed more than 4 MiB on standard error";
  });
  std::printf("%-28s %4ld MB %7.2f s\n", "standard error", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("ssh: unread output stays with the sender") {
  const HomeWithoutKeys home;
  std::atomic<std::size_t> sent = 0;
  const Sshd flooding(test::ask_as_pam_does, on_program([&](ssh_session session, ssh_channel channel) {
                        const std::string rubbish(kRubbish, '#');
                        ssh_set_blocking(session, 0);
                        for (int i = 0; i < 200; ++i) {
                          const int count = ssh_channel_write(channel, rubbish.data(), kRubbish);
                          sent += count > 0 ? static_cast<std::size_t>(count) : 0;
                        }
                        ssh_set_blocking(session, 1);
                      }));
  auto connection = flooding.log_in(test::kSshdPassword, kTimeout);
  auto channel = started(connection);
  REQUIRE(channel);
  std::string bytes;
  REQUIRE((*channel)->read_some(bytes, seconds(5)));
  CHECK(bytes.size() <= 32768);
  CHECK(sent < (std::size_t{4} << 20));
}

TEST_CASE("ssh: a server that opens channels is refused, and disconnected if it continues") {
  const HomeWithoutKeys home;
  const Sshd wishing(test::ask_as_pam_does, on_program([](ssh_session session, ssh_channel) {
                       for (int i = 0; i < 2000 && ssh_is_connected(session) != 0; ++i) {
                         const ssh_channel wish = ssh_channel_new(session);
                         if (ssh_channel_open_reverse_forward(wish, "127.0.0.1", 1, "127.0.0.1", 1) == SSH_OK) return;
                         ssh_channel_free(wish);
                       }
                     }));
  auto connection = wishing.log_in(test::kSshdPassword, kTimeout);
  auto channel = started(connection);
  REQUIRE(channel);
  std::size_t read = 0;
  const auto error = read_to_the_end(**channel, read);
  CHECK(error.code == ErrorCode::kFailed);
  CHECK(error.message == "the node sends unrequested packets");
  channel->reset();
  connection->reset();
}

TEST_CASE("ssh: a program that ends without a status causes no wait") {
  const HomeWithoutKeys home;
  const Sshd ending(test::ask_as_pam_does,
                    on_program([](ssh_session, ssh_channel channel) { ssh_channel_send_eof(channel); }));
  auto connection = ending.log_in(test::kSshdPassword, kTimeout);
  auto channel = started(connection);
  REQUIRE(channel);
  std::size_t read = 0;
  CHECK(read_to_the_end(**channel, read).code == ErrorCode::kNotFound);
  const auto begun = now();
  CHECK_FALSE((*channel)->exit_status());
  CHECK(now() - begun < seconds(10));
}

TEST_CASE("ssh: a status that arrives after the end of the stream is used at once") {
  const HomeWithoutKeys home;
  const Sshd ending(test::ask_as_pam_does, on_program([](ssh_session, ssh_channel channel) {
                      ssh_channel_send_eof(channel);
                      ::poll(nullptr, 0, 100);
                      ssh_channel_request_send_exit_status(channel, 5);
                    }));
  auto connection = ending.log_in(test::kSshdPassword, kTimeout);
  auto channel = started(connection);
  REQUIRE(channel);
  std::size_t read = 0;
  CHECK(read_to_the_end(**channel, read).code == ErrorCode::kNotFound);
  const auto begun = now();
  CHECK((*channel)->exit_status() == 5);
  CHECK(now() - begun < milliseconds(1500));
}

TEST_CASE("ssh: a server that accepts no input times out") {
  const HomeWithoutKeys home;
  std::atomic<bool> done = false;
  const Sshd deaf(test::ask_as_pam_does, on_program([&](ssh_session, ssh_channel) {
                    while (!done) ::poll(nullptr, 0, 10);
                  }));
  auto connection = deaf.log_in(test::kSshdPassword, kTimeout);
  auto channel = started(connection);
  REQUIRE(channel);
  const auto begun = now();
  const auto written = (*channel)->write_all(std::string(std::size_t{8} << 20, 'x'), milliseconds(500));
  done = true;
  REQUIRE_FALSE(written);
  CHECK(written.error().message == "the node accepts no more input");
  CHECK(now() - begun < seconds(10));
}

TEST_CASE("ssh: writing to an ended program stops at once, even while its input is open") {
  const HomeWithoutKeys home;
  const Sshd ending(test::ask_as_pam_does,
                    on_program([](ssh_session, ssh_channel channel) { ssh_channel_send_eof(channel); }));
  auto connection = ending.log_in(test::kSshdPassword, kTimeout);
  const auto channel = started(connection);
  REQUIRE(channel);
  const auto begun = now();
  const auto written = (*channel)->write_all(std::string(std::size_t{64} << 20, '#'), kFarTooLong);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::kUnreachable);
  CHECK(now() - begun < kFarTooLong / 2);
}

TEST_CASE("ssh: a program that ends as soon as all is written does not fail the write") {
  const HomeWithoutKeys home;
  // The connection stays: only the program has ended.
  std::atomic<bool> done = false;
  const Sshd ending(test::ask_as_pam_does, on_program([&](ssh_session, ssh_channel channel) {
                      ssh_channel_send_eof(channel);
                      ssh_channel_close(channel);
                      while (!done) ::poll(nullptr, 0, 10);
                    }));
  const struct Finish {
    std::atomic<bool>& done;
    ~Finish() { done = true; }
  } finish{done};
  auto connection = ending.log_in(test::kSshdPassword, kTimeout);
  const auto channel = started(connection);
  REQUIRE(channel);
  std::size_t read = 0;
  CHECK(read_to_the_end(**channel, read).code == ErrorCode::kNotFound);
  static_cast<void>((*channel)->exit_status());  // Reads the end of the channel, too.
  CHECK_FALSE((*channel)->write_all("x", kTimeout));
  CHECK((*channel)->write_all("", kTimeout));  // Nothing is left to write.
}

TEST_CASE("ssh: standard error before the confirmed start of a program causes no delay") {
  const HomeWithoutKeys home;
  auto channel = std::make_shared<ssh_channel>(nullptr);
  const Sshd hasty(test::ask_as_pam_does, [channel](ssh_session session, ssh_message message) {
    if (ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN) {
      *channel = ssh_message_channel_request_open_reply_accept(message);
    } else if (ssh_message_type(message) == SSH_REQUEST_CHANNEL) {
      ssh_channel_write_stderr(*channel, "mind the gap", 12);
      ssh_channel_send_eof(*channel);
      ssh_message_channel_request_reply_success(message);
    }
    static_cast<void>(session);
  });
  auto connection = hasty.log_in(test::kSshdPassword, kTimeout);
  const auto program = started(connection);
  REQUIRE(program);
  const auto begun = now();
  CHECK_FALSE((*program)->write_all(std::string(std::size_t{64} << 20, '#'), kFarTooLong));
  std::size_t read = 0;
  CHECK(read_to_the_end(**program, read).code == ErrorCode::kNotFound);
  CHECK((*program)->standard_error() == "mind the gap");
  CHECK(now() - begun < kFarTooLong / 2);
}

TEST_CASE("ssh: a program's input and output arrive completely") {
  const HomeWithoutKeys home;
  constexpr std::size_t kSize = std::size_t{3} << 20;
  const Sshd echoing(test::ask_as_pam_does, on_program([](ssh_session, ssh_channel channel) {
                       std::string taken;
                       while (taken.size() < kSize) {
                         char buffer[8192];
                         const int count = ssh_channel_read(channel, buffer, sizeof buffer, 0);
                         if (count <= 0) return;
                         taken.append(buffer, static_cast<std::size_t>(count));
                       }
                       for (std::size_t at = 0; at < taken.size();) {
                         const int count = ssh_channel_write(
                             channel, taken.data() + at,
                             static_cast<std::uint32_t>(std::min<std::size_t>(16384, taken.size() - at)));
                         if (count <= 0) return;
                         at += static_cast<std::size_t>(count);
                       }
                       ssh_channel_request_send_exit_status(channel, 7);
                       ssh_channel_send_eof(channel);
                       ssh_channel_close(channel);
                     }));
  auto connection = echoing.log_in(test::kSshdPassword, kTimeout);
  REQUIRE(connection);
  CHECK((*connection)->peer_address() == "127.0.0.1");
  auto channel = started(connection);
  REQUIRE(channel);
  std::string sent(kSize, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 + i / 4096);
  REQUIRE((*channel)->write_all(sent, seconds(20)));
  std::string got;
  const auto end = now() + kFarTooLong;
  while (now() < end && (*channel)->read_some(got, milliseconds(200))) continue;
  CHECK(got == sent);
  CHECK((*channel)->exit_status() == 7);
}

TEST_CASE("ssh: a server's disconnect message becomes one short line") {
  const HomeWithoutKeys home;
  const Sshd cursing(test::ask_as_pam_does, on_program([](ssh_session session, ssh_channel) {
                       const std::string words = "\x1b[2J\n" + std::string(900, 'w');
                       ssh_session_set_disconnect_message(session, words.c_str());
                       ssh_disconnect(session);
                     }));
  auto connection = cursing.log_in(test::kSshdPassword, kTimeout);
  auto channel = started(connection);
  REQUIRE(channel);
  std::size_t read = 0;
  const auto error = read_to_the_end(**channel, read);
  CHECK(error.code == ErrorCode::kUnreachable);
  CHECK(error.message.size() < 400);
  CHECK(printable(error.message) == error.message);
}

}  // namespace sparkplan
