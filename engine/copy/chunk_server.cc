#include "engine/copy/chunk_server.h"

#include <poll.h>

#include <algorithm>

#include "engine/copy/address.h"
#include "engine/copy/chunk_numbers.h"
#include "engine/core/arrival_limit.h"
#include "engine/core/threads.h"

namespace sparkplan::copy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kListensFor{60};
constexpr int kTokenPatienceMs = 5000;
constexpr int kGlanceMs = 200;
/// Connections at a time that have not shown a token yet.
constexpr std::size_t kMostStrangers = 64;

std::optional<std::string> read_token(int socket) {
  std::string token(kCopyTokenBytes, '\0');
  const auto end = Clock::now() + std::chrono::milliseconds(kTokenPatienceMs);
  for (std::size_t done = 0; done < token.size();) {
    pollfd readable{socket, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    const auto count = ::recv(socket, token.data() + done, token.size() - done, 0);
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return token;
}

bool all_zero(const std::vector<char>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

}  // namespace

ChunkServer::ChunkServer(CopyServe command, Content& content, Traffic& traffic)
    : command_(std::move(command)),
      content_(content),
      traffic_(traffic),
      used_(command_.tokens.size() / kCopyTokenBytes, false) {}

Result<std::unique_ptr<ChunkServer>> ChunkServer::start(const CopyServe& command, Content& content, Traffic& traffic) {
  std::unique_ptr<ChunkServer> server(new ChunkServer(command, content, traffic));
  SPARK_TRY(auto own, socket_address(command.address, 0));
  SPARK_CHECK(socket_address(command.peer, 0));
  auto listener = listen_at(own);
  if (!listener) return failure(std::move(listener).error().within(command.address));
  server->listener_ = std::move(*listener);
  server->port_ = port_of(own);
  SPARK_TRY(server->acceptor_, start_thread([raw = server.get()] { raw->accept_all(); }));
  return server;
}

void ChunkServer::drop() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  for (const PeerStream& stream : streams_) stream.shut_down();
  for (const Visitor& visitor : visitors_) {
    if (visitor.is_stranger) ::shutdown(visitor.socket.get(), SHUT_RDWR);
  }
}

ChunkServer::~ChunkServer() {
  drop();
  if (acceptor_.joinable()) acceptor_.join();
  for (Visitor& visitor : visitors_) visitor.thread.join();
}

bool ChunkServer::all_used() {
  const std::lock_guard lock(mutex_);
  return ends_ || std::all_of(used_.begin(), used_.end(), [](bool used) { return used; });
}

std::optional<std::string> ChunkServer::use(std::string_view token) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const auto at = i * kCopyTokenBytes;
    if (!same_token(token, std::string_view(command_.tokens).substr(at, kCopyTokenBytes)) || used_[i]) continue;
    used_[i] = true;
    return command_.keys.empty() ? "" : command_.keys.substr(at, kCopyTokenBytes);
  }
  return std::nullopt;
}

void ChunkServer::accept_all() {
  const auto peer = socket_address(command_.peer, 0);
  const auto end = Clock::now() + kListensFor;
  ArrivalLimit arrivals(kMostArrivals);
  while (!all_used() && Clock::now() < end) {
    std::this_thread::sleep_for(arrivals.pause(Clock::now()));
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kGlanceMs) <= 0) continue;
    arrivals.count(Clock::now());
    SocketAddress from;
    FileDescriptor socket = accept_from(listener_, from);
    if (!socket.valid() || !peer || !same_host(from, *peer)) continue;
    receive(std::move(socket));
  }
  listener_ = FileDescriptor();
}

/// A stranger at the peer's address must not keep the real connections waiting. A real one shows its token at once.
void ChunkServer::receive(FileDescriptor socket) {
  const std::lock_guard lock(mutex_);
  if (ends_) return;
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.ended; });
  std::size_t strangers = 0;
  Visitor* oldest = nullptr;
  for (Visitor& visitor : visitors_) {
    if (!visitor.is_stranger) continue;
    if (oldest == nullptr) oldest = &visitor;
    ++strangers;
  }
  if (strangers >= kMostStrangers) {
    ::shutdown(oldest->socket.get(), SHUT_RDWR);
    oldest->is_stranger = false;
  }
  Visitor& visitor = visitors_.emplace_back();
  visitor.socket = std::move(socket);
  auto started = start_thread([this, &visitor] {
    admit(visitor);
    const std::lock_guard ended(mutex_);
    visitor.socket = FileDescriptor();
    visitor.is_stranger = false;
    visitor.ended = true;
  });
  if (started) {
    visitor.thread = std::move(*started);
  } else {
    visitors_.pop_back();  // Closes the connection. The other node reports it as lost.
  }
}

void ChunkServer::admit(Visitor& visitor) {
  const auto token = read_token(visitor.socket.get());
  auto key = token ? use(*token) : std::nullopt;
  if (!key) return;
  PeerStream* stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (ends_) return;
    visitor.is_stranger = false;
    prepare_socket(visitor.socket.get());
    stream = &streams_.emplace_back(std::move(visitor.socket), std::move(*key), PeerStream::Side::kServes, traffic_);
  }
  serve(*stream);
  stream->shut_down();
}

void ChunkServer::serve(PeerStream& stream) {
  while (true) {
    std::array<char, kRequestBytes> request{};
    if (!stream.receive(request.data(), request.size())) return;
    const ChunkId id{number_from(request.data()), number_from(request.data() + 4)};
    const auto bytes = content_.read(id);
    if (!bytes) return;
    const bool zeros = content_.is_sparse(id) && all_zero(**bytes);
    std::string reply;
    append_number(reply, id.file);
    append_number(reply, id.chunk);
    append_number(reply, static_cast<std::uint32_t>((*bytes)->size()));
    append_number(reply, zeros ? 1 : 0);
    if (!stream.send(reply)) return;
    if (!zeros && !stream.send({(*bytes)->data(), (*bytes)->size()})) return;
  }
}

}  // namespace sparkplan::copy
