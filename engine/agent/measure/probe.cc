#include "engine/agent/measure/measurements.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/agent/measure/echo_packet.h"
#include "engine/agent/measure/fabric_socket.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kAgain{250};
/// The beginning of each SSH server's first line. Source: RFC 4253, 4.2.
constexpr std::string_view kGreeting = "SSH-";
/// Of one socket, before the others have their turn: another machine may send without end.
constexpr int kPacketsInTurn = 1'000;

/// One attempt to reach a target.
class Attempt {
 public:
  explicit Attempt(const ProbeTarget& target, std::uint16_t number)
      : target_(target), mark_(new_echo_mark(number)), address_(socket_address(target.address, target.ssh_port)) {}

  bool answered() const { return answered_; }
  pollfd wanted() const {
    // A connection attempt that completes makes the socket writable.
    const short connecting = target_.ssh_port != 0 && !connected_ ? POLLOUT : POLLIN;
    return {answered_ ? -1 : socket_.get(), connecting, 0};
  }

  void begin() {
    if (!address_ || answered_) return;
    if (target_.ssh_port != 0) {
      if (socket_.get() < 0) begin_connection();
    } else {
      if (socket_.get() < 0) open_echo();
      send_echo();
    }
  }

  void take(short events) {
    if (events == 0 || answered_ || socket_.get() < 0) return;
    if (target_.ssh_port != 0) {
      take_greeting();
    } else {
      take_echo();
    }
  }

 private:
  void close_socket() {
    socket_.replace(-1);
    greeting_.clear();
    connected_ = false;
  }

  bool leave_through_interface() const {
    if (target_.interface.empty()) return true;
    const auto size = static_cast<socklen_t>(target_.interface.size() + 1);
    return ::setsockopt(socket_.get(), SOL_SOCKET, SO_BINDTODEVICE, target_.interface.c_str(), size) == 0;
  }

  void open_echo() {
    socket_.replace(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP));
    if (socket_.get() < 0) return;
    // Never fragment, whatever the kernel knows about the path. Source: ip(7).
    const int probing = IP_PMTUDISC_PROBE;
    const bool ready = ::setsockopt(socket_.get(), IPPROTO_IP, IP_MTU_DISCOVER, &probing, sizeof probing) == 0;
    if (!ready || !leave_through_interface()) close_socket();
  }

  void send_echo() {
    if (socket_.get() < 0 || !mark_) return;
    const auto packet = echo_request(*mark_, static_cast<std::size_t>(target_.bytes));
    // A packet that cannot be sent now is sent again until the patience is over.
    (void)::sendto(socket_.get(), packet.data(), packet.size(), 0, generic(*address_), sizeof *address_);
  }

  void take_echo() {
    std::array<unsigned char, 256> packet{};
    for (int packets = 0; packets < kPacketsInTurn; ++packets) {
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const auto count = ::recvfrom(socket_.get(), packet.data(), packet.size(), 0, generic(from), &size);
      if (count < 0) return;
      const bool ours = mark_ && from.sin_addr.s_addr == address_->sin_addr.s_addr &&
                        is_echo_reply({packet.data(), static_cast<std::size_t>(count)}, *mark_);
      if (ours) answered_ = true;
    }
  }

  void begin_connection() {
    socket_.replace(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket_.get() < 0) return;
    if (!leave_through_interface()) return close_socket();
    const int begun = ::connect(socket_.get(), generic(*address_), sizeof *address_);
    if (begun != 0 && errno != EINPROGRESS) close_socket();
  }

  void take_greeting() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return close_socket();
    connected_ = true;
    // Bytes that stay in the socket would wake poll() again at once.
    std::array<char, kGreeting.size()> next{};
    const auto count = ::recv(socket_.get(), next.data(), next.size() - greeting_.size(), 0);
    if (count < 0) return;
    greeting_.append(next.data(), static_cast<std::size_t>(count));
    if (count == 0 || !kGreeting.starts_with(greeting_)) return close_socket();
    answered_ = greeting_ == kGreeting;
  }

  const ProbeTarget& target_;
  std::optional<EchoMark> mark_;  ///< Empty: no echo is sent.
  std::optional<sockaddr_in> address_;
  FileDescriptor socket_{-1};
  std::string greeting_;  ///< The part of its greeting that the server has sent in this connection.
  bool connected_ = false;
  bool answered_ = false;
};

}  // namespace

ProbeReply probe(const ProbeRequest& request) {
  std::vector<Attempt> attempts;
  for (const auto& target : request.targets) {
    attempts.emplace_back(target, static_cast<std::uint16_t>(attempts.size() + 1));
  }
  const auto all_answered = [&] {
    return std::all_of(attempts.begin(), attempts.end(), [](const Attempt& one) { return one.answered(); });
  };
  const auto end = Clock::now() + milliseconds(request.patience_ms);
  auto begin_at = Clock::now();
  while (!all_answered() && Clock::now() < end) {
    if (Clock::now() >= begin_at) {
      for (Attempt& attempt : attempts) attempt.begin();
      begin_at = Clock::now() + kAgain;
    }
    std::vector<pollfd> waiting;
    for (const Attempt& attempt : attempts) waiting.push_back(attempt.wanted());
    const auto until = std::chrono::duration_cast<milliseconds>(std::min(begin_at, end) - Clock::now());
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(std::max(milliseconds(1), until).count()));
    for (std::size_t i = 0; i < attempts.size(); ++i) attempts[i].take(waiting[i].revents);
  }
  ProbeReply reply;
  for (const Attempt& attempt : attempts) reply.answered.push_back(attempt.answered());
  return reply;
}

}  // namespace sparkplan
