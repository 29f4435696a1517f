#include "engine/remote/jump_tunnel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan::ssh {
namespace {

constexpr int kPumpPatience = 200;  // Milliseconds until a stop is noticed.

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// Everything that has arrived from the node; false at its end.
bool pass_inwards(ssh_channel channel, int socket) {
  std::array<char, 32768> buffer{};
  while (true) {
    const int count = ssh_channel_read_nonblocking(channel, buffer.data(), buffer.size(), 0);
    if (count < 0) return false;
    if (count == 0) return ssh_channel_is_eof(channel) == 0 && ssh_channel_is_closed(channel) == 0;
    if (!send_all(socket, buffer.data(), static_cast<std::size_t>(count))) return false;
  }
}

bool pass_outwards(ssh_channel channel, int socket) {
  std::array<char, 32768> buffer{};
  const auto count = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  return ssh_channel_write(channel, buffer.data(), static_cast<std::uint32_t>(count)) == count;
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
    // `sparkplan trust` is for nodes.
    if (key.standing == OfferedHostKey::Standing::kUnknown) {
      error.hint = "record its key with `ssh " + host.ssh.user + "@" + host.address + "`, which asks";
    } else if (key.standing == OfferedHostKey::Standing::kChanged) {
      error.hint = "if the machine was installed anew, remove the old key with `ssh-keygen -R " + host.address + "`";
    }
    return failure(std::move(error));
  }
  if (auto logged_in = authenticate(session->get(), host, {options.timeout, options.stop}); !logged_in) {
    return failure(std::move(logged_in).error().within(through));
  }
  ChannelPointer channel(ssh_channel_new(session->get()));
  if (!channel ||
      ssh_channel_open_forward(channel.get(), node.address.c_str(), node.ssh.port, "localhost", 0) != SSH_OK) {
    return failure(ErrorCode::kUnreachable, through + " cannot reach " + node.address + " port " +
                                                std::to_string(node.ssh.port) + ": " +
                                                printable(ssh_get_error(session->get())));
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
  pump_.join();
  if (ours_ >= 0) ::close(ours_);
  ::close(pumped_);
}

int JumpTunnel::take_socket() { return std::exchange(ours_, -1); }

void JumpTunnel::pump(const std::stop_token& stop) {
  const int wire = ssh_get_fd(session_.get());
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> waiting{{{pumped_, POLLIN, 0}, {wire, POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), kPumpPatience);
    const bool more = pass_inwards(channel_.get(), pumped_) && pass_outwards(channel_.get(), pumped_);
    if (more) continue;
    // The other side sees the end of the stream and says so in its own words.
    ::shutdown(pumped_, SHUT_RDWR);
    return;
  }
}

}  // namespace sparkplan::ssh
