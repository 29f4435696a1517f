// Channels of an SSH server that confirms them wrongly, never ends a key exchange, or sends to ended ones.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "engine/remote/ssh/channel_pointer.h"
#include "engine/remote/ssh/jump_tunnel.h"
#include "engine/remote/ssh/ssh_channel.h"
#include "engine/remote/ssh/ssh_connection.h"
#include "engine/remote/ssh/ssh_session.h"
#include "engine/remote/ssh/tcp_connect.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HomeWithoutKeys;
using test::RawServer;
using test::Sshd;

constexpr seconds kTimeToAnswer{10};
constexpr seconds kLongTransfer{30};
constexpr unsigned int kStuckSeconds = 60;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::uint64_t kKeyLimit = 8 * kMegabyte;
constexpr const char* kConfirmation = "ssh_packet_channel_open_conf";

/// Logged in. libssh begins a key exchange after each kKeyLimit bytes, in place of a gigabyte.
ssh::SessionPointer with_short_keys(const NodeSpec& node) {
  const auto watch = std::make_shared<ssh::SessionWatch>();
  ssh::SessionPointer session(ssh_new(), ssh::SessionDeleter{watch});
  const bool no = false;
  const unsigned int port = node.ssh.port;
  const std::uint64_t limit = kKeyLimit;
  ssh_options_set(session.get(), SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session.get(), SSH_OPTIONS_HOST, "127.0.0.1");
  ssh_options_set(session.get(), SSH_OPTIONS_PORT, &port);
  ssh_options_set(session.get(), SSH_OPTIONS_USER, "nvidia");
  ssh_options_set(session.get(), SSH_OPTIONS_COMPRESSION, "no");
  ssh_options_set(session.get(), SSH_OPTIONS_REKEY_DATA, &limit);
  ssh_set_counters(session.get(), nullptr, &watch->packets);
  REQUIRE(ssh_connect(session.get()) == SSH_OK);
  ssh_set_blocking(session.get(), 0);
  const int socket = ssh_get_fd(session.get());
  REQUIRE(::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK) == 0);
  std::optional<ssh::LockedKey> locked;
  REQUIRE(ssh::authenticate(session, test::station_of(node), test::with_password(), locked));
  return session;
}

ssh::ChannelPointer opened_on(const ssh::SessionPointer& session) {
  ssh::ChannelPointer channel = ssh::new_channel(session);
  REQUIRE(channel);
  const auto open = [&] { return ssh_channel_open_session(channel.get()); };
  REQUIRE(ssh::await_channel(session, Clock::now() + kTimeToAnswer, {}, open) == SSH_OK);
  return channel;
}

std::unique_ptr<Channel> channel_on(ssh::SessionPointer session) {
  auto raw = opened_on(session);
  const auto parts = std::make_shared<const SshConnectionParts>(
      SshConnectionParts{nullptr, std::move(session), std::make_shared<UnreadBytes>()});
  return ssh_channel_over(parts, std::move(raw));
}

/// Passes bytes on in both directions. Once `held`, it takes all bytes of its client, and passes none on.
RawServer holding_way_to(const Sshd& server, const std::atomic<bool>& held) {
  return RawServer([port = server.node().ssh.port, &held](int socket, const std::stop_token& stop) {
    const auto onward = connect_tcp("127.0.0.1", port, Clock::now() + kTimeToAnswer, {});
    if (!onward) return;
    ::fcntl(*onward, F_SETFL, ::fcntl(*onward, F_GETFL) & ~O_NONBLOCK);
    std::array<pollfd, 2> both{{{socket, POLLIN, 0}, {*onward, POLLIN, 0}}};
    std::string bytes(65536, '\0');
    while (!stop.stop_requested()) {
      ::poll(both.data(), both.size(), 50);
      for (const std::size_t from : {std::size_t{0}, std::size_t{1}}) {
        const auto count = ::recv(both.at(from).fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count == 0) both.at(from).fd = -1;
        if (count <= 0 || held) continue;
        (void)!::send(both.at(1 - from).fd, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
      if (both[0].fd < 0) break;
    }
    ::close(*onward);
  });
}

NodeSpec reached_through(const RawServer& way, const Sshd& server) {
  NodeSpec node = server.node();
  node.ssh.port = way.node().ssh.port;
  return node;
}

/// Grants a window of 512 MB on the first channel, and reads what arrives. Has short keys, too.
void take_all_of_much(ssh_session session, ssh_message message) {
  if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
  const std::uint64_t limit = kKeyLimit;
  ssh_options_set(session, SSH_OPTIONS_REKEY_DATA, &limit);
  const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
  constexpr std::size_t kWindow = 512 * kMegabyte;
  const std::unique_ptr<char[]> room(new char[kWindow]);  // Mostly untouched, it costs little memory.
  // libssh grants a window for as many bytes as are asked for.
  while (ssh_is_connected(session) != 0 && ssh_channel_is_eof(channel) == 0 &&
         ssh_channel_read_timeout(channel, room.get(), kWindow, 0, 100) >= 0) {
  }
}

/// Prints 60 MB on the first channel.
void print_much(ssh_session /*session*/, ssh_message message) {
  if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
  const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
  const std::string output(kMegabyte, '#');
  for (int i = 0; i < 60; ++i) {
    if (ssh_channel_write(channel, output.data(), static_cast<std::uint32_t>(output.size())) < 0) return;
  }
}

/// Gives a tunnel `most` bytes, or fewer if it takes none for two seconds. Returns their number.
std::size_t give(int socket, std::size_t most) {
  const std::string rubbish(65536, '#');
  std::size_t taken = 0;
  for (pollfd writable{socket, POLLOUT, 0}; taken<most&& ::poll(&writable, 1, 2000)> 0;) {
    const auto count = ::send(socket, rubbish.data(), rubbish.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) taken += static_cast<std::size_t>(count);
  }
  return taken;
}

}  // namespace

TEST_CASE("ssh: input for a node that never ends a key exchange costs less than 40 MB, and fails in time") {
  const HomeWithoutKeys home;
  const auto cost = test::cost_of([] {
    ::alarm(kStuckSeconds);
    std::atomic<bool> held = false;
    const Sshd server(test::ask_as_pam_does, take_all_of_much);
    const RawServer way = holding_way_to(server, held);
    auto session = with_short_keys(reached_through(way, server));
    const auto channel = channel_on(std::move(session));
    const std::string input(kMegabyte, '#');
    // More than the first window.
    for (int i = 0; i < 3; ++i) REQUIRE(channel->write_all(input, kTimeToAnswer));
    held = true;
    Result<void> written;
    for (int i = 0; written && i < 200; ++i) written = channel->write_all(input, seconds(1));
    return !written && written.error().code == ErrorCode::kUnreachable;
  });
  std::printf("%-28s %4ld MB %7.2f s\n", "an open key exchange", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("jump tunnel: bytes for a jump host that never ends a key exchange cost less than 40 MB") {
  const HomeWithoutKeys home;
  const auto cost = test::cost_of([] {
    ::alarm(kStuckSeconds);
    std::atomic<bool> held = false;
    const Sshd server(test::ask_as_pam_does, take_all_of_much);
    const RawServer way = holding_way_to(server, held);
    const auto jump_host = reached_through(way, server);
    auto tunnel = test::tunnel_over(with_short_keys(jump_host), jump_host);
    const int socket = tunnel->take_socket();
    const bool begun = give(socket, 3 * kMegabyte) >= 3 * kMegabyte;
    held = true;
    const auto taken = give(socket, 200 * kMegabyte);
    tunnel.reset();
    ::close(socket);
    return begun && taken < 64 * kMegabyte;
  });
  std::printf("%-28s %4ld MB %7.2f s\n", "a tunnel's key exchange", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("ssh: transfers go on after each key exchange, whichever side begins it") {
  const HomeWithoutKeys home;
  SECTION("to a node") {
    const Sshd server(test::ask_as_pam_does, take_all_of_much);
    auto session = with_short_keys(server.node());
    const auto& watch = *session.get_deleter().watch;
    const auto channel = channel_on(std::move(session));
    const std::string input(kMegabyte, '#');
    for (int i = 0; i < 60; ++i) REQUIRE(channel->write_all(input, kLongTransfer));
    CHECK(watch.written == 60 * kMegabyte);
  }
  SECTION("from a node") {
    const Sshd server(test::ask_as_pam_does, print_much);
    auto session = with_short_keys(server.node());
    const auto channel = channel_on(std::move(session));
    std::size_t read = 0;
    const auto end = Clock::now() + kLongTransfer;
    while (read < 60 * kMegabyte && Clock::now() < end) {
      std::string bytes;
      const auto count = channel->read_some(bytes, milliseconds(200));
      REQUIRE(count);
      read += *count;
    }
    CHECK(read == 60 * kMegabyte);
  }
  SECTION("through a jump host") {
    const Sshd server(test::ask_as_pam_does, take_all_of_much);
    auto tunnel = test::tunnel_over(with_short_keys(server.node()), server.node());
    const int socket = tunnel->take_socket();
    CHECK(give(socket, 60 * kMegabyte) >= 60 * kMegabyte);
    tunnel.reset();
    ::close(socket);
  }
}

TEST_CASE("ssh: packets without output are a flood, and small packets of output are none") {
  ssh::SessionWatch watch;
  // A program that prints single bytes.
  watch.payload = 100'000'000;
  watch.data_packets = watch.payload;
  watch.packets.in_packets = watch.data_packets;
  watch.packets.in_bytes = 10 * watch.payload;
  CHECK_FALSE(watch.floods(nullptr));
  // libssh answers each question.
  watch.packets.in_packets += 100'001;
  CHECK(watch.floods(nullptr));

  // A terabyte of output allows no other bytes.
  ssh::SessionWatch long_output;
  long_output.payload = std::uint64_t{1} << 40;
  long_output.data_packets = long_output.payload >> 15;
  long_output.packets.in_packets = long_output.data_packets;
  long_output.packets.in_bytes = long_output.payload + 9 * long_output.data_packets;
  CHECK_FALSE(long_output.floods(nullptr));
  long_output.packets.in_bytes += std::uint64_t{1} << 30;
  CHECK(long_output.floods(nullptr));
}

TEST_CASE("ssh: a channel for tiny packets, or one that is confirmed twice, ends the session before any input") {
  struct Case {
    const char* name;
    int level;
    const char* function;
    const char* format;
    std::uint32_t limit;
    bool is_wrong;
  };
  for (const Case& one : {
           Case{"no room for data", SSH_LOG_PROTOCOL, kConfirmation, "Remote window : 9, maxpacket : %u", 10, true},
           Case{"nothing at all", SSH_LOG_PACKET, kConfirmation, "Remote window : 9, maxpacket : %u", 0, true},
           Case{"as OpenSSH", SSH_LOG_PROTOCOL, kConfirmation, "Remote window : 9, maxpacket : %u", 32768, false},
           Case{"again", SSH_LOG_WARN, kConfirmation, "received in incorrect channel state %u", 3, true},
           Case{"another function", SSH_LOG_WARN, "other", "maxpacket : %u", 10, false},
       }) {
    DYNAMIC_SECTION(one.name) {
      ssh::SessionWatch watch;
      {
        const ssh::ConfirmationListener listener(watch, ssh::ConfirmationListener::Log::kOpening);
        _ssh_log(one.level, one.function, one.format, one.limit);
      }
      CHECK(watch.confirms_wrongly == one.is_wrong);
      CHECK(watch.floods(nullptr) == one.is_wrong);
      if (one.is_wrong) CHECK(ssh::write_some(nullptr, "input", watch) == SSH_ERROR);
    }
  }
  // After its end nothing is heard.
  ssh::SessionWatch watch;
  { const ssh::ConfirmationListener listener(watch); }
  _ssh_log(SSH_LOG_WARN, kConfirmation, "again");
  CHECK_FALSE(watch.confirms_wrongly);
}

TEST_CASE("ssh: the largest packet of a channel is known once it is open") {
  const HomeWithoutKeys home;
  const Sshd server(test::ask_as_pam_does);
  const auto session = with_short_keys(server.node());
  const auto channel = opened_on(session);
  CHECK(session.get_deleter().watch->packet_limit >= 32000);
}

TEST_CASE("ssh: what a node sends to an ended channel is dropped") {
  const HomeWithoutKeys home;
  std::atomic<bool> ended = false;
  auto first = std::make_shared<ssh_channel>(nullptr);
  const Sshd server(test::ask_as_pam_does, [&ended, first](ssh_session, ssh_message message) {
    if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
    const bool is_first = *first == nullptr;
    const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
    if (is_first) *first = channel;
    if (is_first) return;
    while (!ended) ::poll(nullptr, 0, 10);
    // Before it takes notice of the end.
    const std::string late(kMegabyte, '#');
    (void)ssh_channel_write(*first, late.data(), static_cast<std::uint32_t>(late.size()));
  });
  const auto session = with_short_keys(server.node());
  auto channel = opened_on(session);
  const ssh_channel handle = channel.get();
  const auto other = opened_on(session);
  channel.reset();
  ended = true;
  const auto& packets = session.get_deleter().watch->packets;
  const auto end = Clock::now() + kTimeToAnswer;
  while (packets.in_bytes < kMegabyte && Clock::now() < end) {
    (void)ssh_channel_poll_timeout(other.get(), 50, 0);
  }
  REQUIRE(packets.in_bytes >= kMegabyte);
  CHECK(ssh_channel_poll(handle, 0) <= 0);
}

}  // namespace sparkplan
