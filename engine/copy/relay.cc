#include "engine/copy/relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "engine/carried/controller_stream.h"
#include "engine/copy/address.h"
#include "engine/copy/peer_stream.h"
#include "engine/core/arrival_limit.h"
#include "engine/core/file_descriptor.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRelayListensFor{60};
constexpr int kLongestSilenceMs = 600'000;
constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr int kFailedStatus = 1;
/// Connections at a time that have not shown the token yet.
constexpr std::size_t kMostRelayStrangers = 64;

/// False at the end of the stream.
bool pass_on(int from, int to, std::vector<char>& buffer) {
  const auto count = ::read(from, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  return count > 0 && write_fully(to, {buffer.data(), static_cast<std::size_t>(count)});
}

/// A connection that has not shown the whole token yet.
struct Stranger {
  FileDescriptor socket;
  std::string shown = {};
};

/// Reads no byte behind the token. False: the connection has ended.
bool read_token(Stranger& stranger, std::size_t size) {
  std::array<char, kCopyTokenBytes> bytes{};
  const auto count = ::recv(stranger.socket.get(), bytes.data(), size - stranger.shown.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  stranger.shown.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

/// The connection that has shown the token. An invalid descriptor: standard input has ended, or the time is over.
FileDescriptor accept_with(const std::string& token, const FileDescriptor& listener) {
  std::deque<Stranger> strangers;
  ArrivalLimit arrivals(kMostArrivals);
  const auto end = Clock::now() + kRelayListensFor;
  while (true) {
    const auto now = Clock::now();
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
    if (left.count() <= 0) return FileDescriptor();
    std::vector<pollfd> waiting{{listener.get(), POLLIN, 0}, {STDIN_FILENO, 0, 0}};
    if (const auto pause = arrivals.pause(now); pause.count() > 0) {
      waiting[0].fd = -1;  // poll() skips it.
      left = std::min(left, pause);
    }
    for (const Stranger& stranger : strangers) waiting.push_back({stranger.socket.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0) continue;
    if (waiting[1].revents != 0) return FileDescriptor();
    // The real one sends its token at once, so strangers do not push it out.
    for (std::size_t i = strangers.size(); i-- > 0;) {
      if (waiting[i + 2].revents == 0) continue;
      const bool is_open = read_token(strangers[i], token.size());
      if (is_open && same_token(strangers[i].shown, token)) return std::move(strangers[i].socket);
      if (is_open && strangers[i].shown.size() < token.size()) continue;
      strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (waiting[0].revents == 0) continue;
    arrivals.count(Clock::now());
    SocketAddress from;
    FileDescriptor accepted = accept_from(listener, from);
    if (!accepted.valid()) continue;
    if (strangers.size() == kMostRelayStrangers) strangers.pop_front();
    strangers.push_back({std::move(accepted)});
  }
}

}  // namespace

int run_relay(const std::string& token, const std::function<void(int port)>& tell_port) {
  auto own = socket_address("127.0.0.1", 0);
  if (token.size() != kCopyTokenBytes || !own) return kFailedStatus;
  auto listener = listen_at(*own);
  if (!listener) return kFailedStatus;
  tell_port(port_of(*own));
  const FileDescriptor peer = accept_with(token, *listener);
  *listener = FileDescriptor();
  if (!peer.valid() || !write_fully(STDOUT_FILENO, token)) return kInputEndedStatus;
  prepare_socket(peer.get());
  std::vector<char> buffer(kPiece);
  while (true) {
    std::array<pollfd, 2> readable{{{peer.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
    if (::poll(readable.data(), readable.size(), kLongestSilenceMs) <= 0) return kInputEndedStatus;
    if (readable[0].revents != 0 && !pass_on(peer.get(), STDOUT_FILENO, buffer)) return 0;
    if (readable[1].revents != 0 && !pass_on(STDIN_FILENO, peer.get(), buffer)) return 0;
  }
}

}  // namespace sparkplan::copy
