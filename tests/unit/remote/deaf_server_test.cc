// SSH servers and jump hosts that read slowly, or nothing.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "engine/remote/ssh/host_keys.h"
#include "engine/remote/ssh/jump_tunnel.h"
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

constexpr seconds kTimeToConnect{10};
constexpr seconds kMuchTooLong{30};
/// Ends the child process of a measurement that would never end.
constexpr unsigned int kHungSeconds = 60;
/// Less than the kernel would hold by itself.
constexpr int kSmallBuffer = 4096;
/// More than a segment of the loopback interface: with less, the sender waits before each segment.
constexpr int kModestBuffer = 131072;

/// Sends packets of an unknown type. libssh answers each. It reads the answers only once, which wakes up the client's
/// write.
void ask_and_never_listen(int socket, const std::stop_token& stop) {
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kSmallBuffer, sizeof kSmallBuffer);
  const std::string banner = "SSH-2.0-OpenSSH_9.6\r\n";
  (void)!::send(socket, banner.data(), banner.size(), MSG_NOSIGNAL);
  std::string packets;
  for (int i = 0; i < 4096; ++i) packets += std::string("\0\0\0\x0c\x0a\xc8", 6) + std::string(10, '\0');
  std::string read(std::size_t{4} << 20, '\0');
  std::size_t sent = 0;
  while (!stop.stop_requested()) {
    pollfd writable{socket, POLLOUT, 0};
    if (::poll(&writable, 1, 50) <= 0) continue;
    const auto count = ::send(socket, packets.data(), packets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return;
    const auto before = std::exchange(sent, sent + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (before < read.size() && sent >= read.size()) (void)!::recv(socket, read.data(), read.size(), MSG_DONTWAIT);
  }
}

/// Passes bytes on in both directions, few at a time.
RawServer slow_way_to(const Sshd& server) {
  return RawServer([port = server.node().ssh.port](int socket, const std::stop_token& stop) {
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kModestBuffer, sizeof kModestBuffer);
    const auto onward = connect_tcp("127.0.0.1", port, Clock::now() + kTimeToConnect, {});
    if (!onward) return;
    std::array<pollfd, 2> both{{{socket, POLLIN, 0}, {*onward, POLLIN, 0}}};
    bool open = true;
    while (open && !stop.stop_requested()) {
      ::poll(both.data(), both.size(), 50);
      for (const std::size_t from : {std::size_t{0}, std::size_t{1}}) {
        std::array<char, 1500> bytes{};
        const auto count = ::recv(both.at(from).fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count == 0) open = false;
        for (ssize_t at = 0; at < count && !stop.stop_requested();) {
          pollfd writable{both.at(1 - from).fd, POLLOUT, 0};
          if (::poll(&writable, 1, 50) <= 0) continue;
          const auto passed =
              ::send(writable.fd, bytes.data() + at, static_cast<std::size_t>(count - at), MSG_NOSIGNAL);
          if (passed <= 0) return;
          at += passed;
        }
      }
    }
    ::close(*onward);
  });
}

/// Grants a window of 256 MB on the first channel, and reads nothing more until `done`.
test::OnMessage granting_without_reading(const std::atomic<bool>& done) {
  return [&done](ssh_session, ssh_message message) {
    if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
    const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
    constexpr std::size_t kWindow = std::size_t{256} << 20;
    const std::unique_ptr<char[]> room(new char[kWindow]);  // Untouched, it costs no memory.
    // libssh grants a window for as many bytes as are asked for.
    (void)ssh_channel_read_timeout(channel, room.get(), kWindow, 0, 10);
    while (!done) ::poll(nullptr, 0, 10);
  };
}

/// Reads all that arrives on the first channel.
void take_all(ssh_session session, ssh_message message) {
  if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
  const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
  std::string bytes(std::size_t{1} << 20, '\0');
  while (ssh_is_connected(session) != 0 &&
         ssh_channel_read(channel, bytes.data(), static_cast<std::uint32_t>(bytes.size()), 0) > 0) {
  }
}

/// Writes until `most` bytes are taken, or none for two seconds. Returns their number.
std::size_t write_up_to(std::size_t most, int socket) {
  const std::string rubbish(65536, '#');
  std::size_t taken = 0;
  for (pollfd writable{socket, POLLOUT, 0}; taken<most&& ::poll(&writable, 1, 2000)> 0;) {
    const auto count = ::send(socket, rubbish.data(), rubbish.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) break;
    if (count > 0) taken += static_cast<std::size_t>(count);
  }
  return taken;
}

}  // namespace

TEST_CASE("ssh: a server that asks without end and reads no answer fails in time, for less than 40 MB") {
  const HomeWithoutKeys home;
  for (const seconds timeout : {seconds(1), seconds(60)}) {
    DYNAMIC_SECTION(timeout.count() << " s") {
      const auto cost = test::cost_of([timeout] {
        ::alarm(kHungSeconds);
        const RawServer server(ask_and_never_listen);
        const auto begun = Clock::now();
        const auto key = offered_host_key(server.node(), {timeout, {}});
        const bool in_time = Clock::now() - begun < kMuchTooLong;
        std::printf("%s\n", key ? "a key" : key.error().describe().c_str());
        return !key && key.error().code == ErrorCode::kUnreachable && in_time;
      });
      std::printf("%-28s %4ld MB %7.2f s\n", "answers without a reader", cost.megabytes, cost.seconds);
      CHECK(cost.exit_status == 0);
      CHECK(cost.megabytes < 40);
    }
  }
}

TEST_CASE("ssh: the socket of a session does not block, so that no server can hold a call") {
  const HomeWithoutKeys home;
  const Sshd server(test::ask_as_pam_does);
  const auto session = test::logged_in_on(server.node());
  CHECK((::fcntl(ssh_get_fd(session.get()), F_GETFL) & O_NONBLOCK) != 0);
}

TEST_CASE("ssh: answers that a server does not take are a flood, and the usual packets of a long transfer are none") {
  ssh::SessionWatch watch;
  // Without a connection libssh holds no packets.
  watch.packets.out_packets = 1'000'000;
  CHECK_FALSE(watch.floods(nullptr));
  CHECK(watch.sent == 1'000'000);
  // The windows that sshd grants for a terabyte of input, for each 16 KiB.
  watch.written = std::uint64_t{1} << 40;
  watch.packets.in_bytes = 9 * (watch.written >> 14);
  CHECK_FALSE(watch.floods(nullptr));
  watch.written = 0;
  CHECK(watch.floods(nullptr));
  watch.packets.in_bytes = 0;
  CHECK(watch.floods(nullptr));
}

TEST_CASE("ssh: all input arrives at a server that takes it in small pieces") {
  const HomeWithoutKeys home;
  constexpr std::size_t kSize = std::size_t{3} << 20;
  std::string sent(kSize, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 + i / 4096);
  auto opened = std::make_shared<ssh_channel>(nullptr);
  const Sshd echoing(test::ask_as_pam_does, [opened](ssh_session, ssh_message message) {
    if (ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN) {
      *opened = ssh_message_channel_request_open_reply_accept(message);
      return;
    }
    ssh_message_channel_request_reply_success(message);
    std::array<char, 8192> buffer{};
    for (std::size_t taken = 0; taken < kSize;) {
      const int count = ssh_channel_read(*opened, buffer.data(), buffer.size(), 0);
      if (count <= 0 || ssh_channel_write(*opened, buffer.data(), static_cast<std::uint32_t>(count)) <= 0) return;
      taken += static_cast<std::size_t>(count);
    }
    ssh_channel_send_eof(*opened);
  });
  const RawServer between = slow_way_to(echoing);
  auto node = echoing.node();
  node.ssh.port = between.node().ssh.port;
  auto connection = connect_ssh(node, test::with_password());
  REQUIRE(connection);
  auto channel = (*connection)->start(RemoteProgram::kAgent, Elevation::kNone);
  REQUIRE(channel);
  REQUIRE((*channel)->write_all(sent, kMuchTooLong));
  std::string got;
  const auto end = Clock::now() + kMuchTooLong;
  while (Clock::now() < end && (*channel)->read_some(got, milliseconds(200))) continue;
  CHECK(got == sent);
}

TEST_CASE("jump tunnel: a jump host that takes no bytes costs less than 40 MB, and its tunnel ends at once") {
  const HomeWithoutKeys home;
  const auto cost = test::cost_of([] {
    ::alarm(kHungSeconds);
    std::atomic<bool> done = false;
    const Sshd deaf(test::ask_as_pam_does, granting_without_reading(done));
    auto tunnel = test::tunnel_over(test::logged_in_on(deaf.node()), deaf.node());
    const int socket = tunnel->take_socket();
    const auto taken = write_up_to(std::size_t{256} << 20, socket);
    const auto begun = Clock::now();
    tunnel.reset();
    const bool ended = Clock::now() - begun < kTimeToConnect;
    ::close(socket);
    done = true;
    return ended && taken < std::size_t{64} << 20;
  });
  std::printf("%-28s %4ld MB %7.2f s\n", "a deaf jump host", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("jump tunnel: a long transfer without a pause is no flood") {
  const HomeWithoutKeys home;
  const Sshd jump_host(test::ask_as_pam_does, take_all);
  auto tunnel = test::tunnel_over(test::logged_in_on(jump_host.node()), jump_host.node());
  const int socket = tunnel->take_socket();
  constexpr std::size_t kLong = std::size_t{400} << 20;  // More packets than may wait for the peer at once.
  CHECK(write_up_to(kLong, socket) >= kLong);
  tunnel.reset();
  ::close(socket);
}

}  // namespace sparkplan
