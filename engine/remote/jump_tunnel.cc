#include "engine/remote/jump_tunnel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace sparkplan::ssh {
namespace {

constexpr int kPumpPatience = 200;  // Milliseconds between checks for a stop.

constexpr std::size_t kPiece = 32768;
/// The most unread bytes from the jump host that the node's session has not taken yet.
constexpr int kMostUnread = 4 << 20;

/// Bytes in transit from one side to the other; the source is not read until they are all written.
class Ferry {
 public:
  bool empty() const { return size_ == 0; }
  std::string_view load() const { return {buffer_.data() + begin_, size_}; }
  /// The buffer for the next bytes, once the last ones are written.
  std::array<char, kPiece>& room() { return buffer_; }
  void take(std::size_t size) {
    begin_ = 0;
    size_ = size;
  }
  void drop(std::size_t size) {
    begin_ += size;
    size_ -= size;
  }

 private:
  std::array<char, kPiece> buffer_{};
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

/// Forwards the bytes that have arrived from the node, as many as the local socket takes; false at the end of the
/// stream.
bool pass_inwards(ssh_channel channel, int socket, Ferry& ferry, SessionWatch& watch) {
  if (ssh_channel_poll(channel, 0) > kMostUnread || ssh_channel_poll(channel, 1) > kMostUnread) return false;
  if (ferry.empty()) {
    const int count = ssh_channel_read_nonblocking(channel, ferry.room().data(), kPiece, 0);
    if (count < 0 && count != SSH_AGAIN) return false;
    if (count <= 0) return ssh_channel_is_eof(channel) == 0 && ssh_channel_is_closed(channel) == 0;
    watch.payload += static_cast<std::uint64_t>(count);
    ferry.take(static_cast<std::size_t>(count));
  }
  const auto sent = ::send(socket, ferry.load().data(), ferry.load().size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  ferry.drop(static_cast<std::size_t>(sent));
  return true;
}

bool pass_outwards(ssh_channel channel, int socket, Ferry& ferry) {
  if (ferry.empty()) {
    const auto count = ::recv(socket, ferry.room().data(), kPiece, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    ferry.take(static_cast<std::size_t>(count));
  }
  const auto size = std::min<std::size_t>(ssh_channel_window_size(channel), ferry.load().size());
  if (size == 0) return true;
  const int written = ssh_channel_write(channel, ferry.load().data(), static_cast<std::uint32_t>(size));
  if (written < 0) return written == SSH_AGAIN;
  ferry.drop(static_cast<std::size_t>(written));
  return true;
}

}  // namespace

Result<NodeSpec> jump_host(const NodeSpec& node) {
  NodeSpec host = node;
  host.ssh.jump.clear();
  host.ssh.host_key.clear();
  host.ssh.port = 22;
  std::string_view text = node.ssh.jump;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    host.ssh.user = std::string(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return failure(ErrorCode::kInvalidInput, "jump host " + node.ssh.jump);
    port = text.substr(end + 1);
    text = text.substr(1, end - 1);
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    port = text.substr(colon);
    text = text.substr(0, colon);
  }
  if (!port.empty()) {
    port.remove_prefix(1);
    const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), host.ssh.port);
    if (code != std::errc() || end != port.data() + port.size() || host.ssh.port == 0) {
      return failure(ErrorCode::kInvalidInput, "the port of the jump host " + node.ssh.jump);
    }
  }
  host.address = std::string(text);
  return host;
}

Result<std::unique_ptr<JumpTunnel>> JumpTunnel::open(const NodeSpec& node, const ConnectOptions& options) {
  SPARK_TRY(const auto host, jump_host(node));
  const auto through = "jump host " + host.address;
  auto session = open_session(host, options.timeout);
  if (!session) return failure(std::move(session).error().within(through));
  SPARK_TRY(const auto key, examine_host_key(session->get(), host));
  if (auto trusted = require_trusted(key, host); !trusted) {
    auto error = std::move(trusted).error().within(through);
    // `sparkplan trust` works only for nodes.
    if (key.standing == OfferedHostKey::Standing::kUnknown) {
      error.hint = "record its key with `ssh " + host.ssh.user + "@" + host.address + "`, which asks";
    } else if (key.standing == OfferedHostKey::Standing::kChanged) {
      error.hint = "if the machine was installed anew, remove the old key with `ssh-keygen -R " + host.address + "`";
    }
    return failure(std::move(error));
  }
  if (auto logged_in = authenticate(*session, host, {options.timeout, options.stop}); !logged_in) {
    return failure(std::move(logged_in).error().within(through));
  }
  ChannelPointer channel(ssh_channel_new(session->get()));
  const auto forward = [&] {
    return ssh_channel_open_forward(channel.get(), node.address.c_str(), node.ssh.port, "localhost", 0);
  };
  const auto end = std::chrono::steady_clock::now() + options.timeout;
  if (!channel || await_answer(*session, end, options.stop, forward) != SSH_OK) {
    if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    return failure(ErrorCode::kUnreachable, through + " cannot reach " + node.address + " port " +
                                                std::to_string(node.ssh.port) + ": " + ssh_words(session->get()));
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failure(system_error("make a socket pair", errno));
  }
  return std::unique_ptr<JumpTunnel>(new JumpTunnel(std::move(*session), std::move(channel), ends[0], ends[1]));
}

JumpTunnel::JumpTunnel(SessionPointer session, ChannelPointer channel, int ours, int pumped)
    : session_(std::move(session)), channel_(std::move(channel)), ours_(ours), pumped_(pumped) {
  pump_ = std::jthread([this](const std::stop_token& stop) { pump(stop); });
}

JumpTunnel::~JumpTunnel() {
  pump_.request_stop();
  ::shutdown(pumped_, SHUT_RDWR);
  pump_.join();
  if (ours_ >= 0) ::close(ours_);
  ::close(pumped_);
}

int JumpTunnel::take_socket() { return std::exchange(ours_, -1); }

void JumpTunnel::pump(const std::stop_token& stop) {
  const auto inwards = std::make_unique<Ferry>();
  const auto outwards = std::make_unique<Ferry>();
  const int wire = ssh_get_fd(session_.get());
  SessionWatch& watch = *session_.get_deleter().watch;
  while (!stop.stop_requested()) {
    const bool unsent = (ssh_get_poll_flags(session_.get()) & SSH_WRITE_PENDING) != 0;
    const short from_session = outwards->empty() ? POLLIN : 0;
    const short to_session = inwards->empty() ? 0 : POLLOUT;
    const short events = unsent ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 2> waiting{{{pumped_, static_cast<short>(from_session | to_session), 0}, {wire, events, 0}}};
    ::poll(waiting.data(), waiting.size(), kPumpPatience);
    bool more = !watch.floods();
    // Called even if there are no bytes to forward: the jump host's latest window size may have arrived.
    more = more && pass_inwards(channel_.get(), pumped_, *inwards, watch) &&
           pass_outwards(channel_.get(), pumped_, *outwards);
    while (more && inwards->empty() && ssh_channel_poll(channel_.get(), 0) > 0) {
      more = pass_inwards(channel_.get(), pumped_, *inwards, watch);
    }
    if (more) continue;
    // The node's session sees the end of the stream and reports it.
    ::shutdown(pumped_, SHUT_RDWR);
    return;
  }
}

}  // namespace sparkplan::ssh
