#include "engine/copy/relay.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "engine/carried/controller_stream.h"
#include "engine/copy/address.h"
#include "engine/copy/peer_stream.h"

namespace sparkplan::copy {
namespace {

constexpr int kListensForMs = 60'000;
constexpr int kLongestSilenceMs = 600'000;
constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr int kFailedStatus = 1;

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// False at the end of the stream.
bool pass_on(int from, int to, std::vector<char>& buffer) {
  const auto count = ::read(from, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  return count > 0 && write_all(to, {buffer.data(), static_cast<std::size_t>(count)});
}

/// The connection, or an invalid descriptor if standard input ends first.
FileDescriptor accept_one(const FileDescriptor& listener) {
  std::array<pollfd, 2> waiting{{{listener.get(), POLLIN, 0}, {STDIN_FILENO, 0, 0}}};
  if (::poll(waiting.data(), waiting.size(), kListensForMs) <= 0 || waiting[0].revents == 0) {
    return FileDescriptor();
  }
  return FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

}  // namespace

int run_relay(const std::function<void(int port)>& tell_port) {
  auto own = socket_address("127.0.0.1", 0);
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!own || !listener.valid() || ::bind(listener.get(), own->get(), own->size) != 0 ||
      ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), own->get(), &own->size) != 0) {
    return kFailedStatus;
  }
  tell_port(port_of(*own));
  const FileDescriptor peer = accept_one(listener);
  if (!peer.valid()) return kInputEndedStatus;
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
