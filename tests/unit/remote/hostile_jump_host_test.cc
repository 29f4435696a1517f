// Jump hosts that send bytes of their own in place of those of the node behind them.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/remote/ssh/jump_tunnel.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using test::HomeWithoutKeys;
using test::Sshd;

constexpr std::chrono::seconds kPatience{10};
constexpr unsigned int kLongestRunSeconds = 60;
constexpr std::size_t kTunnels = 16;
/// The window that libssh grants, less the largest packet.
constexpr std::size_t kNearlyTheWindow = 1'280'000 - 32'768;

/// Sends on the first channel as many bytes as its window takes, and counts them.
test::OnMessage filling_the_window(std::atomic<std::size_t>& sent) {
  return [&sent](ssh_session session, ssh_message message) {
    if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
    const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
    const std::string bytes(8192, '#');
    while (ssh_is_connected(session) != 0) {
      const int count = ssh_channel_write(channel, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  };
}

/// Sends a byte of standard error on the first channel. A forwarded connection has none.
void send_standard_error(ssh_session /*session*/, ssh_message message) {
  if (ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN) return;
  const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
  (void)ssh_channel_write_stderr(channel, "#", 1);
}

bool becomes_true(const std::function<bool()>& condition) {
  const auto end = Clock::now() + kPatience;
  while (!condition() && Clock::now() < end) ::poll(nullptr, 0, 10);
  return condition();
}

}  // namespace

TEST_CASE("jump tunnel: bytes of standard error from a jump host end the tunnel") {
  const HomeWithoutKeys home;
  const Sshd jump_host(test::ask_as_pam_does, send_standard_error);
  auto tunnel = test::tunnel_over(test::logged_in_on(jump_host.node()), jump_host.node());
  const int socket = tunnel->take_socket();
  pollfd ended{socket, POLLRDHUP, 0};
  CHECK(::poll(&ended, 1, static_cast<int>(kPatience / std::chrono::milliseconds(1))) == 1);
  tunnel.reset();
  ::close(socket);
}

TEST_CASE("jump tunnel: sixteen full tunnels without a reader cost less than 60 MB") {
  const HomeWithoutKeys home;
  const auto cost = test::cost_of([] {
    ::alarm(kLongestRunSeconds);
    std::vector<std::atomic<std::size_t>> sent(kTunnels);
    std::vector<std::unique_ptr<Sshd>> jump_hosts;
    std::vector<std::unique_ptr<ssh::JumpTunnel>> tunnels;
    for (auto& count : sent) {
      const auto& jump_host =
          jump_hosts.emplace_back(std::make_unique<Sshd>(test::ask_as_pam_does, filling_the_window(count)));
      tunnels.push_back(test::tunnel_over(test::logged_in_on(jump_host->node()), jump_host->node()));
    }
    const bool filled = becomes_true(
        [&] { return std::ranges::all_of(sent, [](const auto& count) { return count >= kNearlyTheWindow; }); });
    const auto begun = Clock::now();
    tunnels.clear();
    return filled && Clock::now() - begun < kPatience;
  });
  std::printf("%-28s %4ld MB %7.2f s\n", "sixteen full tunnels", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 60);
}

}  // namespace sparkplan
