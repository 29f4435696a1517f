// Output that a node sends while the controller writes, and that no caller reads.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "engine/remote/programs/copy_relay.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HomeWithoutKeys;
using test::Sshd;

constexpr std::size_t kPrinted = std::size_t{3} << 20;
constexpr std::size_t kMost = std::size_t{4} << 20;
constexpr std::size_t kLargestPiece = 32768;
constexpr seconds kLongTime{30};
/// More than any window for input.
const std::string kInput(std::size_t{8} << 20, 'x');

/// A program that prints `bytes`, and takes no input until `done`.
test::OnMessage printing(std::size_t bytes, const std::atomic<bool>& done) {
  auto opened = std::make_shared<ssh_channel>(nullptr);
  return [=, &done](ssh_session, ssh_message message) {
    if (ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN) {
      *opened = ssh_message_channel_request_open_reply_accept(message);
      return;
    }
    if (ssh_message_type(message) != SSH_REQUEST_CHANNEL) return;
    ssh_message_channel_request_reply_success(message);
    const std::string text(kLargestPiece, '#');
    for (std::size_t sent = 0; sent < bytes;) {
      const auto size = static_cast<std::uint32_t>(std::min(text.size(), bytes - sent));
      const int count = ssh_channel_write(*opened, text.data(), size);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    while (!done) ::poll(nullptr, 0, 10);
  };
}

/// Sets a flag at the end, also of a test that fails.
struct ReleasesServers {
  std::atomic<bool>& done;
  ~ReleasesServers() { done = true; }
};

struct Running {
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Channel> channel;
};

Running start_on(const Sshd& server, const ConnectOptions& options) {
  auto connection = server.log_in(options);
  REQUIRE(connection);
  auto channel = (*connection)->start(RemoteProgram::kNcclRank, Elevation::kNone);
  REQUIRE(channel);
  return {*std::move(connection), *std::move(channel)};
}

}  // namespace

TEST_CASE("ssh: unread output has one bound over all connections to a node") {
  const HomeWithoutKeys home;
  std::atomic<bool> done = false;
  const Sshd one(test::ask_as_pam_does, printing(kPrinted, done));
  const Sshd other(test::ask_as_pam_does, printing(kPrinted, done));
  const ReleasesServers finish{done};
  ConnectOptions options;
  options.most_unread = kMost;
  const auto unread = options.unread->of(Sshd::node_name());
  const auto sum = [&] { return unread->change(0, 0); };
  auto first = start_on(one, options);
  auto second = start_on(other, options);

  const auto end = Clock::now() + kLongTime;
  while (sum() < kPrinted && Clock::now() < end) (void)first.channel->write_all(kInput, milliseconds(200));
  REQUIRE(sum() == kPrinted);
  auto written = second.channel->write_all(kInput, milliseconds(200));
  while (!written && written.error().code == ErrorCode::kUnreachable && sum() < 2 * kPrinted && Clock::now() < end) {
    written = second.channel->write_all(kInput, milliseconds(200));
  }
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::kFailed);
  CHECK(written.error().message == "the node sends data without a request");
  CHECK(sum() <= kMost);
  std::string of_second;
  CHECK_FALSE(second.channel->read_some(of_second, milliseconds(0)));
  second.channel.reset();
  CHECK(sum() == kPrinted);

  // The caller takes it in pieces, so that what is left still counts.
  std::string of_first;
  REQUIRE(first.channel->read_some(of_first, milliseconds(0)));
  CHECK(of_first.size() <= kLargestPiece);
  CHECK(sum() == kPrinted - of_first.size());
  while (of_first.size() < kPrinted && Clock::now() < end) {
    REQUIRE(first.channel->read_some(of_first, milliseconds(200)));
  }
  CHECK(of_first == std::string(kPrinted, '#'));
  CHECK(sum() == 0);
}

TEST_CASE("ssh: a program that prints faster than it is read, and is written to all the time, loses nothing") {
  const HomeWithoutKeys home;
  constexpr std::size_t kMuch = std::size_t{64} << 20;
  std::atomic<bool> done = false;
  const Sshd server(test::ask_as_pam_does, printing(kMuch, done));
  const ReleasesServers finish{done};
  ConnectOptions options;
  options.most_unread = 2 * kMost;
  auto running = start_on(server, options);
  const auto unread = options.unread->of(Sshd::node_name());
  std::size_t read = 0;
  std::size_t most_unread = 0;
  const auto end = Clock::now() + kLongTime;
  while (read < kMuch && Clock::now() < end) {
    const auto written = running.channel->write_all("a sign of life", kLongTime);
    INFO((written ? "" : written.error().describe()));
    REQUIRE(written);
    most_unread = std::max(most_unread, unread->change(0, 0));
    std::string piece;
    REQUIRE(running.channel->read_some(piece, milliseconds(200)));
    read += piece.size();
  }
  CHECK(read == kMuch);
  CHECK(most_unread < 2 * kMost);
}

TEST_CASE("ssh: connections to other nodes do not count for the unread output of a node") {
  UnreadOfNodes nodes;
  CHECK(nodes.of("n1")->change(0, 5) == 5);
  CHECK(nodes.of("n2")->change(0, 7) == 7);
  CHECK(nodes.of("n1")->change(0, 3) == 8);
  CHECK(nodes.of("n1")->change(5, 0) == 3);
}

TEST_CASE("ssh: a stop ends a write that the node does not take, where it is asked for") {
  const HomeWithoutKeys home;
  std::atomic<bool> done = false;
  const Sshd deaf(test::ask_as_pam_does, printing(0, done));
  const ReleasesServers finish{done};
  std::stop_source stop;
  ConnectOptions options;
  options.stop = stop.get_token();
  options.stop_ends_writes = true;
  auto running = start_on(deaf, options);
  stop.request_stop();
  const auto written = running.channel->write_all(kInput, kLongTime);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::kInterrupted);
}

TEST_CASE("copy relay: the stop of its link ends its connection, also during a write") {
  std::stop_source stop;
  stop.request_stop();
  bool ends_writes = false;
  bool stopped = false;
  AgentOptions options;
  options.connector = [&](const NodeSpec&, const ConnectOptions& connect) -> Result<std::unique_ptr<Connection>> {
    ends_writes = connect.stop_ends_writes;
    stopped = connect.stop.stop_requested();
    return failure(ErrorCode::kInterrupted, "stopped");
  };
  CHECK_FALSE(CopyRelay::open(test::node(), options, "token", stop.get_token()));
  CHECK(ends_writes);
  CHECK(stopped);
}

TEST_CASE("copy relay: a stop ends it while the local program reads nothing") {
  // Connections wait here, and are never accepted.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener, name, size) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  REQUIRE(::getsockname(listener, name, &size) == 0);

  std::stop_source stop;
  test::Remote remote;
  test::Peer& copy = remote.add({});
  copy.output = std::string(kPreamble) + test::framed(encode(CopyAnswer(CopyServing{1, 5})));
  auto relay = CopyRelay::open(test::node(), remote.options(), "token", stop.get_token());
  REQUIRE(relay);
  copy.on_read = [&](test::Peer& self) {
    stop.request_stop();
    self.output = std::string(std::size_t{64} << 20, '#');  // More than the kernel keeps for a socket.
  };
  const auto begun = Clock::now();
  relay->carry(ntohs(address.sin_port));
  CHECK(stop.stop_requested());
  CHECK(Clock::now() - begun < kLongTime);
  ::close(listener);
}

}  // namespace sparkplan
