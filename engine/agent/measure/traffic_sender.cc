#include "engine/agent/measure/measurements.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/agent/measure/fabric_socket.h"
#include "engine/core/threads.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A healthy network loses none; one of the two copies may be lost.
constexpr int kCopiesOfProbe = 2;
/// Longer than the kernel's search for a neighbour's hardware address, which ends in EHOSTUNREACH.
constexpr milliseconds kToConnect{4'000};
/// The time for sent data to arrive, even on a slow path.
constexpr milliseconds kToArrive{5'000};
constexpr milliseconds kLook{50};
constexpr std::size_t kSentAtOnce = std::size_t{256} << 10;

TcpOutcome outcome_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return TcpOutcome::kRefused;
    case ETIMEDOUT:
      return TcpOutcome::kDropped;
    case ENETUNREACH:
    case EHOSTUNREACH:
      return TcpOutcome::kNoRoute;
    default:
      return TcpOutcome::kBroken;
  }
}

MeasureTcpReply no_way(int error) {
  MeasureTcpReply reply;
  reply.outcome = outcome_of(error);
  reply.reason = system_error("connect", error).describe();
  return reply;
}

/// Returns 0, or the errno of the failed attempt.
int connect_within(int socket, const sockaddr_in& to, milliseconds patience) {
  if (::connect(socket, generic(to), sizeof to) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{socket, POLLOUT, 0};
  if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

/// From now on, calls on the socket wait for at most `patience`.
void make_blocking(int socket, milliseconds patience) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  const timeval limit{patience.count() / 1000, (patience.count() % 1000) * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/// The part of one connection: its traffic until `over`, and whether all of it arrived.
struct Stream {
  FileDescriptor socket;
  std::int64_t bytes = 0;
  int error = 0;

  void carry(std::string_view token, std::string_view load, const std::atomic<bool>& over) {
    if (::send(socket.get(), token.data(), token.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(token.size())) {
      error = errno;
      return;
    }
    while (!over) {
      const auto sent = ::send(socket.get(), load.data(), load.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes += sent;
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        error = errno;
        return;
      }
    }
    // The other end closes the connection after it has received everything.
    ::shutdown(socket.get(), SHUT_WR);
    make_blocking(socket.get(), kToArrive);
    char nothing = 0;
    if (::recv(socket.get(), &nothing, 1, 0) != 0) error = errno == EAGAIN ? ETIMEDOUT : errno;
  }
};

}  // namespace

Result<void> send_datagrams(const SendDatagramsRequest& request) {
  const auto to = socket_address(request.address, request.port);
  if (!to) return failure(ErrorCode::kInvalidInput, request.address + " is no IPv4 address");
  SPARK_TRY(const auto socket, open_fabric_socket(request.from, SOCK_DGRAM));
  // Never fragment, whatever the kernel knows about the path. Source: ip(7).
  const int probing = IP_PMTUDISC_PROBE;
  if (::setsockopt(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, &probing, sizeof probing) != 0) {
    return failure(system_error("send datagrams", errno));
  }
  for (int copy = 0; copy < kCopiesOfProbe; ++copy) {
    for (const std::int64_t size : request.sizes) {
      std::string packet = request.token;
      const auto headers = kIpHeaderBytes + kUdpHeaderBytes;
      packet.resize(std::max(packet.size(), static_cast<std::size_t>(std::max<std::int64_t>(size, 0)) - headers), '.');
      pollfd room{socket.get(), POLLOUT, 0};
      (void)::poll(&room, 1, static_cast<int>(kLook.count()));
      (void)::sendto(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL, generic(*to), sizeof *to);
    }
  }
  return {};
}

Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request, const std::function<bool()>& stop_asked) {
  const auto to = socket_address(request.address, request.port);
  if (!to) return failure(ErrorCode::kInvalidInput, request.address + " is no IPv4 address");
  std::vector<Stream> streams;
  for (std::int64_t i = 0; i < request.streams; ++i) {
    SPARK_TRY(auto socket, open_fabric_socket(request.from, SOCK_STREAM));
    if (const int error = connect_within(socket.get(), *to, kToConnect); error != 0) return no_way(error);
    make_blocking(socket.get(), kLook);
    streams.push_back({std::move(socket)});
  }
  const std::string load(kSentAtOnce, '.');
  std::atomic<bool> over{false};
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (Stream& stream : streams) {
      auto started = add_thread(threads, [&, one = &stream] { one->carry(request.token, load, over); });
      if (started) continue;
      over = true;
      return failure(std::move(started).error());
    }
    const auto end = begin + milliseconds(request.duration_ms);
    while (Clock::now() < end && !stop_asked()) {
      std::this_thread::sleep_for(std::min<Clock::duration>(kLook, end - Clock::now()));
    }
    over = true;
  }
  MeasureTcpReply reply;
  reply.nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  for (const Stream& stream : streams) {
    reply.bytes += stream.bytes;
    if (stream.error == 0) continue;
    reply.outcome = TcpOutcome::kBroken;
    reply.reason = system_error("send", stream.error).describe();
  }
  return reply;
}

}  // namespace sparkplan
