#include "engine/remote/ssh/jump_tunnel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace sparkplan::ssh {
namespace {

constexpr int kPumpPatience = 200;  // Milliseconds between checks for a stop.

constexpr std::size_t kPiece = 32768;
/// The most unread bytes from the jump host that the node's session has not taken yet. libssh grants a window of 1.28
/// MB. A jump host of 63 nodes can hold 88 MB of the controller.
constexpr int kMostUnread = 1'400'000;

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

/// Called by libssh for each packet with data. Takes none of it: pass_inwards() reads it.
int count_data(ssh_session /*session*/, ssh_channel /*channel*/, void* /*data*/, std::uint32_t /*size*/,
               int /*is_error*/, void* watch) {
  ++static_cast<SessionWatch*>(watch)->data_packets;
  return 0;
}

/// Forwards the bytes that have arrived from the node, as many as the local socket takes; false at the end of the
/// stream. A forwarded connection has no standard error, so its bytes would stay with libssh.
bool pass_inwards(ssh_channel channel, int socket, Ferry& ferry, SessionWatch& watch) {
  if (ssh_channel_poll(channel, 0) > kMostUnread || ssh_channel_poll(channel, 1) > 0) return false;
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

/// Gives the bytes of the local socket to libssh, once it has sent the last ones: it would hold all that a jump host
/// with a large window does not read. False at the end of the stream.
bool pass_outwards(ssh_channel channel, int socket, Ferry& ferry, SessionWatch& watch) {
  if (ferry.empty()) {
    const auto count = ::recv(socket, ferry.room().data(), kPiece, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    ferry.take(static_cast<std::size_t>(count));
  }
  const int written = write_some(channel, ferry.load(), watch);
  if (written < 0) return false;
  ferry.drop(static_cast<std::size_t>(written));
  return true;
}

}  // namespace

Result<std::unique_ptr<JumpTunnel>> JumpTunnel::open(SessionPointer session, std::unique_ptr<JumpTunnel> outer,
                                                     const SshStation& jump_host, const SshStation& station,
                                                     const ConnectOptions& options) {
  ChannelPointer channel = new_channel(session);
  const auto forward = [&] {
    return ssh_channel_open_forward(channel.get(), station.address.c_str(), station.port, "localhost", 0);
  };
  const auto end = std::chrono::steady_clock::now() + options.timeout;
  if (!channel || await_channel(session, end, options.stop, forward) != SSH_OK) {
    if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    return failure(ErrorCode::kUnreachable,
                   jump_host.context() + " cannot reach " + station.address + " port " + std::to_string(station.port) +
                       ": " + reason_of(session),
                   "is it switched on? try `ping " + station.address + "` on the jump host");
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failure(system_error("make a socket pair", errno));
  }
  return std::unique_ptr<JumpTunnel>(
      new JumpTunnel(std::move(outer), std::move(session), std::move(channel), ends[0], ends[1]));
}

JumpTunnel::JumpTunnel(std::unique_ptr<JumpTunnel> outer, SessionPointer session, ChannelPointer channel, int ours,
                       int pumped)
    : outer_(std::move(outer)),
      session_(std::move(session)),
      channel_(std::move(channel)),
      ours_(ours),
      pumped_(pumped) {
  callbacks_.userdata = session_.get_deleter().watch.get();
  callbacks_.channel_data_function = count_data;
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_.get(), &callbacks_);
  pump_ = std::jthread([this](const std::stop_token& stop) { pump(stop); });
}

JumpTunnel::~JumpTunnel() {
  pump_.request_stop();
  ::shutdown(pumped_, SHUT_RDWR);
  pump_.join();
  ssh_remove_channel_callbacks(channel_.get(), &callbacks_);
  if (ours_ >= 0) ::close(ours_);
  ::close(pumped_);
}

int JumpTunnel::take_socket() { return std::exchange(ours_, -1); }

void JumpTunnel::pump(const std::stop_token& stop) {
  const auto inwards = std::make_unique<Ferry>();
  const auto outwards = std::make_unique<Ferry>();
  const int wire = ssh_get_fd(session_.get());
  SessionWatch& watch = *session_.get_deleter().watch;
  const ConfirmationListener listener(watch);
  while (!stop.stop_requested()) {
    const bool unsent = (ssh_get_poll_flags(session_.get()) & SSH_WRITE_PENDING) != 0;  // The socket is full.
    const short from_session = outwards->empty() ? POLLIN : 0;
    const short to_session = inwards->empty() ? 0 : POLLOUT;
    const short events = unsent ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 2> waiting{{{pumped_, static_cast<short>(from_session | to_session), 0}, {wire, events, 0}}};
    ::poll(waiting.data(), waiting.size(), kPumpPatience);
    // Called even if there are no bytes to forward: the jump host's latest window size may have arrived.
    bool more = pass_inwards(channel_.get(), pumped_, *inwards, watch);
    // Here libssh has sent the last bytes, and holds no further ones.
    more = more && !watch.floods(session_.get()) && pass_outwards(channel_.get(), pumped_, *outwards, watch);
    while (more && inwards->empty() && ssh_channel_poll(channel_.get(), 0) > 0) {
      more = pass_inwards(channel_.get(), pumped_, *inwards, watch) && !watch.floods(session_.get());
    }
    if (more) continue;
    // The node's session sees the end of the stream and reports it.
    ::shutdown(pumped_, SHUT_RDWR);
    return;
  }
}

}  // namespace sparkplan::ssh
