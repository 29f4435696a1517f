#include "engine/remote/programs/copy_relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "engine/remote/programs/installation.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/frame.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGlance{5};
constexpr std::chrono::milliseconds kLongestWrite{60'000};
constexpr std::chrono::seconds kLongestSilence{120};
constexpr std::size_t kRelayedPiece = std::size_t{256} << 10;

/// A connection to a port of this machine, closed at the end.
class LocalSocket {
 public:
  explicit LocalSocket(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    (void)::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;
  ~LocalSocket() { ::close(socket_); }

  bool is_open() const { return open_; }

  bool has_bytes() const {
    pollfd readable{socket_, POLLIN, 0};
    return ::poll(&readable, 1, 0) > 0;
  }

  /// 0 at the end.
  std::size_t read_some(std::vector<char>& bytes) const {
    const auto count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  /// A node may ask for chunks and read none: then the local program does not read what this end writes.
  bool write_all(std::string_view bytes, const std::stop_token& stop) const {
    auto end = Clock::now() + kLongestWrite;
    while (!bytes.empty()) {
      const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (stop.stop_requested() || Clock::now() >= end) return false;
        pollfd writable{socket_, POLLOUT, 0};
        (void)::poll(&writable, 1, static_cast<int>(kStopPatience.count()));
        continue;
      }
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
      end = Clock::now() + kLongestWrite;
    }
    return true;
  }

 private:
  int socket_;
  bool open_ = false;
};

/// The port that the program names in its first message.
Result<int> read_port(Channel& channel, const AgentOptions& options) {
  FrameReader reader;
  const auto end = Clock::now() + options.reply_timeout;
  while (Clock::now() < end) {
    if (options.connect.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    std::string bytes;
    const auto count = channel.read_some(bytes, kStopPatience);
    if (!count) return failure(why_silent(channel, count.error(), reader.noise()));
    reader.feed(bytes);
    for (auto message = reader.next(kSmallMessage);; message = reader.next(kSmallMessage)) {
      if (!message) return failure(bounded(message.error()));
      if (!*message) break;
      const auto answer = decode<CopyAnswer>(**message);
      if (!answer) return failure(bounded(answer.error()));
      if (const auto* serving = std::get_if<CopyServing>(&*answer)) return serving->port;
      if (const auto* failed = std::get_if<CopyFailure>(&*answer)) return failure(bounded(failed->error));
      if (!std::holds_alternative<CopyHello>(*answer)) {
        return failure(ErrorCode::kFailed, "sparkplan-copy named no port");
      }
    }
  }
  return failure(ErrorCode::kUnreachable, "sparkplan-copy did not start in time");
}

}  // namespace

Result<CopyRelay> CopyRelay::open(const NodeSpec& node, AgentOptions options, const std::string& token,
                                  const std::stop_token& stop) {
  options.connect.stop = stop;
  options.connect.stop_ends_writes = true;
  SPARK_TRY(auto connection, options.connector(node, options.connect));
  SPARK_TRY(auto channel, connection->start(RemoteProgram::kCopy, Elevation::kNone));
  SPARK_TRY(const auto frame, encode_frame(encode(CopyCommand(CopyJoin{token}))));
  SPARK_CHECK(channel->write_all(std::string(kPreamble) + frame, options.reply_timeout));
  CopyRelay relay(std::move(connection), std::move(channel), stop);
  SPARK_TRY(relay.port_, read_port(*relay.channel_, options));
  return relay;
}

void CopyRelay::carry(int local_port) {
  std::string arrived;
  // The local program expects a token soon after the connection, so the node's end connects first.
  const auto end = Clock::now() + kLongestSilence;
  while (arrived.empty()) {
    if (stop_.stop_requested() || Clock::now() >= end || !channel_->read_some(arrived, kStopPatience)) return;
  }
  const LocalSocket local(local_port);
  std::vector<char> bytes(kRelayedPiece);
  if (!local.is_open() || !local.write_all(arrived, stop_)) return;
  while (!stop_.stop_requested()) {
    const bool readable = local.has_bytes();
    if (readable) {
      const auto count = local.read_some(bytes);
      if (count == 0 || !channel_->write_all({bytes.data(), count}, kLongestWrite)) return;
    }
    arrived.clear();
    if (!channel_->read_some(arrived, readable ? std::chrono::milliseconds(0) : kGlance)) return;
    if (!local.write_all(arrived, stop_)) return;
  }
}

}  // namespace sparkplan
