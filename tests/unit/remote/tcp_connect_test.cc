// Connecting, and how it ends.
#include "engine/remote/ssh/tcp_connect.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "engine/remote/ssh/host_keys.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

/// A port of the loopback interface where no connection is accepted any more, and none refused.
class FullPort {
 public:
  FullPort() {
    descriptors_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(descriptors_[0], reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(descriptors_[0], 0) == 0);
    REQUIRE(::getsockname(descriptors_[0], reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
    for (int i = 0; i < 4; ++i) {
      descriptors_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(descriptors_.back(), reinterpret_cast<sockaddr*>(&address), size);
    }
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;
  ~FullPort() {
    for (const int descriptor : descriptors_) ::close(descriptor);
  }

  std::uint16_t port = 0;

 private:
  std::vector<int> descriptors_;
};

}  // namespace

TEST_CASE("connect: a stop ends the attempt at once, and the time limit ends it too") {
  const FullPort full;
  std::stop_source stop;
  const auto begun = Clock::now();
  const auto late = connect_tcp("127.0.0.1", full.port, begun + milliseconds(100), stop.get_token());
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::kUnreachable);
  CHECK(late.error().message.find("no answer in time") != std::string::npos);
  CHECK(late.error().hint ==
        "is it switched on? if `ping 127.0.0.1` gets answers, a firewall may drop port " + std::to_string(full.port));
  const std::jthread stopper([&] { stop.request_stop(); });
  const auto stopped = connect_tcp("127.0.0.1", full.port, begun + seconds(60), stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kInterrupted);
  CHECK(Clock::now() - begun < seconds(20));
}

TEST_CASE("connect: a port without a server has a hint that leads to sshd") {
  std::uint16_t port = 0;
  {
    const FullPort closed;
    port = closed.port;
  }
  const auto refused = connect_tcp("127.0.0.1", port, Clock::now() + seconds(10), {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnreachable);
  CHECK(refused.error().hint.find("`systemctl status ssh`") != std::string::npos);
}

TEST_CASE("connect: a name without an address has the caller's hint, and names no other program") {
  // A label of more than 63 bytes is in no name service, and no server is asked for it.
  const auto unknown = connect_tcp(std::string(70, 'a'), 22, Clock::now() + seconds(10), {}, "correct the name");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::kUnreachable);
  CHECK(unknown.error().message.starts_with("look up aaaa"));
  CHECK(unknown.error().hint.find("getent") == std::string::npos);
}

TEST_CASE("connect: a stop ends the wait for a server that says nothing") {
  const test::HomeWithoutKeys home;
  std::stop_source stop;
  const test::RawServer silent([&](int, const std::stop_token& ended) {
    stop.request_stop();
    while (!ended.stop_requested()) std::this_thread::yield();
  });
  const auto begun = Clock::now();
  const auto stopped = offered_host_key(silent.node(), {seconds(60), stop.get_token()});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kInterrupted);
  CHECK(Clock::now() - begun < seconds(20));
}

TEST_CASE("connect: a link-local address without an interface, or with an unknown one, is named") {
  for (const std::string address : {"fe80::1", "febf::1", "fe80::1%no-such-if"}) {
    INFO(address);
    const auto refused = check_zone(address);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kInvalidInput);
    CHECK(refused.error().message.find(address.substr(address.find('%') + 1)) != std::string::npos);
    CHECK_FALSE(refused.error().hint.empty());
  }
  for (const std::string address : {"fe80::1%lo", "fe80::1%1", "::1", "2001:db8::1", "10.0.0.1", "fe80.lab", ""}) {
    INFO(address);
    CHECK(check_zone(address));
  }
}

TEST_CASE("connect: a refused connection is an error with its reason") {
  std::uint16_t port = 0;
  {
    const FullPort closed_again;
    port = closed_again.port;
  }
  const auto refused = connect_tcp("127.0.0.1", port, Clock::now() + seconds(20), {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnreachable);
  CHECK(refused.error().describe() == "connect to 127.0.0.1 port " + std::to_string(port) + ": Connection refused");
}

}  // namespace sparkplan
