#include "engine/agent/measure/traffic_receiver.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/agent/measure/fabric_socket.h"
#include "engine/core/threads.h"

namespace sparkplan {
namespace {

/// Longer than any measurement.
constexpr std::chrono::seconds kLongestLife{90};
constexpr int kDatagramsAtOnce = 64;

/// For one window of ArrivalLimit. A measurement has a few of each; more come from strangers, or accept() keeps
/// failing.
constexpr int kAdmissionsInWindow = 64;
constexpr int kDatagramsInWindow = 512;

constexpr std::size_t kMaxConnections = 64;
constexpr std::size_t kMaxDatagram = 65'536;
constexpr std::size_t kAtOnce = std::size_t{4} << 20;

Result<std::int64_t> port_of(const FileDescriptor& socket) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (::getsockname(socket.get(), generic(own), &size) != 0) return failure(system_error("open a port", errno));
  return std::int64_t{ntohs(own.sin_port)};
}

}  // namespace

Result<std::unique_ptr<TrafficReceiver>> TrafficReceiver::open(const OpenReceiverRequest& request) {
  const auto peer = socket_address(request.peer, 0);
  if (!peer) return failure(ErrorCode::kInvalidInput, request.peer + " is no IPv4 address");
  SPARK_TRY(auto listener, open_fabric_socket(request.at, SOCK_STREAM));
  SPARK_TRY(auto datagrams, open_fabric_socket(request.at, SOCK_DGRAM));
  if (::listen(listener.get(), static_cast<int>(kMaxConnections)) != 0) return failure(system_error("listen", errno));
  SPARK_TRY(const auto port, port_of(listener));
  SPARK_TRY(const auto datagram_port, port_of(datagrams));
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return failure(system_error("listen", errno));
  std::unique_ptr<TrafficReceiver> receiver(
      new TrafficReceiver(std::move(listener), std::move(datagrams), std::move(wake), *peer, request.token));
  receiver->ports_ = {port, datagram_port};
  SPARK_TRY(receiver->thread_, start_thread([open = receiver.get()] { open->listen_on(); }));
  return receiver;
}

TrafficReceiver::TrafficReceiver(FileDescriptor listener, FileDescriptor datagrams, FileDescriptor wake,
                                 const sockaddr_in& peer, std::string token)
    : listener_(std::move(listener)),
      datagrams_(std::move(datagrams)),
      wake_(std::move(wake)),
      peer_(peer),
      token_(std::move(token)),
      admissions_(kAdmissionsInWindow),
      arrivals_(kDatagramsInWindow) {}

TrafficReceiver::~TrafficReceiver() {
  over_ = true;
  (void)::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

CloseReceiverReply TrafficReceiver::await(const CloseReceiverRequest& request) {
  const std::set<std::int64_t> awaited(request.awaited.begin(), request.awaited.end());
  const auto has_arrived = [&](std::int64_t size) { return received_.contains(size); };
  std::unique_lock lock(mutex_);
  more_received_.wait_for(lock, std::chrono::milliseconds(request.patience_ms),
                          [&] { return std::all_of(awaited.begin(), awaited.end(), has_arrived); });
  // The sender may send any sizes. With all of them, the controller would refuse the reply of this node.
  CloseReceiverReply reply;
  std::copy_if(awaited.begin(), awaited.end(), std::back_inserter(reply.received), has_arrived);
  return reply;
}

void TrafficReceiver::listen_on() {
  const auto end = std::chrono::steady_clock::now() + kLongestLife;
  while (!over_) {
    const auto now = std::chrono::steady_clock::now();
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
    if (left.count() <= 0) {  // The session that opened it has ended.
      connections_.clear();
      (void)::shutdown(listener_.get(), SHUT_RDWR);
      return;
    }
    std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}, {datagrams_.get(), POLLIN, 0}};
    // poll() skips negative descriptors.
    if (const auto pause = admissions_.pause(now); pause.count() > 0) {
      waiting[1].fd = -1;
      left = std::min(left, pause);
    }
    if (const auto pause = arrivals_.pause(now); pause.count() > 0) {
      waiting[2].fd = -1;
      left = std::min(left, pause);
    }
    for (const Connection& connection : connections_) waiting.push_back({connection.socket.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) return;
    std::size_t place = 3;
    for (auto at = connections_.begin(); at != connections_.end(); ++place) {
      const bool ready = waiting[place].revents != 0;
      at = ready && !drain(*at) ? connections_.erase(at) : std::next(at);
    }
    if (waiting[1].revents != 0) admit();
    if (waiting[2].revents != 0) receive_datagrams();
  }
}

void TrafficReceiver::admit() {
  // A failure counts as well: without a free descriptor, the listener stays readable.
  admissions_.count(std::chrono::steady_clock::now());
  sockaddr_in from{};
  socklen_t size = sizeof from;
  FileDescriptor socket(::accept4(listener_.get(), generic(from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() < 0 || from.sin_addr.s_addr != peer_.sin_addr.s_addr) return;
  if (connections_.size() == kMaxConnections) {
    // Any user of the peer can open silent connections. The real ones send their token at once.
    const auto has_no_token = [&](const Connection& one) { return one.beginning.size() < token_.size(); };
    const auto silent = std::find_if(connections_.begin(), connections_.end(), has_no_token);
    if (silent == connections_.end()) return;
    connections_.erase(silent);
  }
  connections_.push_back({std::move(socket), {}});
}

void TrafficReceiver::receive_datagrams() {
  std::array<char, kMaxDatagram> packet{};
  // A sender that is faster than this thread must not keep it from its other sockets.
  for (int i = 0; i < kDatagramsAtOnce && !over_; ++i) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const auto size = ::recvfrom(datagrams_.get(), packet.data(), packet.size(), 0, generic(from), &length);
    if (size < 0) return;
    arrivals_.count(std::chrono::steady_clock::now());
    const std::string_view bytes(packet.data(), static_cast<std::size_t>(size));
    if (from.sin_addr.s_addr != peer_.sin_addr.s_addr || !bytes.starts_with(token_)) continue;
    const std::lock_guard lock(mutex_);
    received_.insert(static_cast<std::int64_t>(bytes.size() + kIpHeaderBytes + kUdpHeaderBytes));
    more_received_.notify_all();
  }
}

bool TrafficReceiver::drain(Connection& connection) const {
  const int socket = connection.socket.get();
  if (connection.beginning.size() < token_.size()) {
    std::array<char, 64> bytes{};
    const auto count = ::recv(socket, bytes.data(), token_.size() - connection.beginning.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    connection.beginning.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0 && token_.starts_with(connection.beginning);
  }
  // The kernel drops the bytes without copying them. Source: tcp(7), MSG_TRUNC.
  const auto count = ::recv(socket, nullptr, kAtOnce, MSG_TRUNC);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace sparkplan
