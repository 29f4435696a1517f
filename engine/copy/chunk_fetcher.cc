#include "engine/copy/chunk_fetcher.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

#include "engine/copy/address.h"
#include "engine/copy/chunk_buffer.h"
#include "engine/copy/chunk_numbers.h"
#include "engine/copy/chunk_server.h"
#include "engine/core/threads.h"

namespace sparkplan::copy {
namespace {

constexpr int kConnectMs = 10'000;
/// A chunk that a connection has asked for and not received yet. The peer reads the next chunk while this one travels.
constexpr std::size_t kMostAhead = std::size_t{12} << 20;
constexpr std::size_t kMostRequests = 32;
/// Chunks of a connection that are received and wait for their digests, while the next one is received.
constexpr std::size_t kMostInHand = 1;
/// So much is received before it goes into the digest: it is still in the processor's cache then.
constexpr std::size_t kPart = std::size_t{256} << 10;

std::string request_for(ChunkId id) {
  std::string bytes;
  append_number(bytes, id.file);
  append_number(bytes, id.chunk);
  return bytes;
}

Result<FileDescriptor> connect_to(const CopyFetch& command) {
  SPARK_TRY(const auto own, socket_address(command.own, 0));
  SPARK_TRY(const auto peer, socket_address(command.address, command.port));
  FileDescriptor socket(::socket(peer.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string what = "connect to " + command.address;
  if (!socket.valid() || ::bind(socket.get(), own.get(), own.size) != 0) return failure(system_error(what, errno));
  if (::connect(socket.get(), peer.get(), peer.size) != 0) {
    if (errno != EINPROGRESS) return failure(system_error(what, errno));
    pollfd writable{socket.get(), POLLOUT, 0};
    int error = ETIMEDOUT;
    socklen_t size = sizeof error;
    if (::poll(&writable, 1, kConnectMs) > 0) ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failure(system_error(what, error));
  }
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  prepare_socket(socket.get());
  return socket;
}

/// The token is no secret once it is used, and it is used once.
Result<void> send_token(int socket, std::string_view token) {
  while (!token.empty()) {
    const auto count = ::send(socket, token.data(), token.size(), MSG_NOSIGNAL);
    if (count < 0) return failure(system_error("send a token", errno));
    token.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

ChunkFetcher::ChunkFetcher(const CopyFetch& command, Content& content, Traffic& traffic)
    : command_(command), content_(content), traffic_(traffic), running_(command.tokens.size() / kCopyTokenBytes) {
  const auto count = running_;
  for (std::size_t i = 0; i < count; ++i) {
    auto started = add_thread(threads_, [this, i] { work(i); });
    if (started) continue;
    const std::lock_guard lock(mutex_);
    --running_;
    // The other connections fetch all chunks.
    if (threads_.empty()) error_ = std::move(started).error();
  }
}

ChunkFetcher::~ChunkFetcher() {
  drop();
  threads_.clear();
}

void ChunkFetcher::drop() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  error_.reset();
  for (const PeerStream& stream : streams_) stream.shut_down();
}

std::optional<Error> ChunkFetcher::lost() {
  const std::lock_guard lock(mutex_);
  if (running_ > 0) return std::nullopt;
  return std::exchange(error_, std::nullopt);
}

bool ChunkFetcher::is_over() {
  const std::lock_guard lock(mutex_);
  return running_ == 0 && !error_;
}

void ChunkFetcher::work(std::size_t place) {
  const auto outcome = fetch(place);
  const std::lock_guard lock(mutex_);
  --running_;
  if (!outcome && !error_ && !ends_ && !content_.ended()) error_ = outcome.error();
}

Result<PeerStream*> ChunkFetcher::open(std::size_t place) {
  SPARK_TRY(auto socket, connect_to(command_));
  const auto at = place * kCopyTokenBytes;
  SPARK_CHECK(send_token(socket.get(), std::string_view(command_.tokens).substr(at, kCopyTokenBytes)));
  std::string key = command_.keys.empty() ? "" : command_.keys.substr(at, kCopyTokenBytes);
  const std::lock_guard lock(mutex_);
  if (ends_) return failure(ErrorCode::kInterrupted, "the transfer has ended");
  return &streams_.emplace_back(std::move(socket), std::move(key), PeerStream::Side::kFetches, traffic_);
}

Result<void> ChunkFetcher::ask(PeerStream& stream, std::deque<Travelling>& asked, bool may_wait) {
  std::size_t ahead = 0;
  for (const Travelling& chunk : asked) ahead += chunk.wanted.bytes;
  while (asked.empty() || (ahead < kMostAhead && asked.size() < kMostRequests)) {
    const auto wanted = asked.empty() && may_wait ? content_.take() : content_.take_now();
    if (!wanted) break;
    if (wanted->local && content_.take_from_old_file(*wanted)) continue;
    if (content_.take_written(*wanted)) continue;
    asked.push_back({*wanted});
    asked.back().wanted.local = false;
    ahead += wanted->bytes;
    SPARK_CHECK(stream.send(request_for(wanted->id)));
  }
  return {};
}

Result<void> ChunkFetcher::fetch(std::size_t place) {
  SPARK_TRY(PeerStream* const stream, open(place));
  std::deque<Travelling> asked;
  std::deque<Travelling> arrived;
  Result<void> outcome;
  bool is_refused = false;
  const auto is_connected = [&] { return stream->is_connected(); };
  const auto deliver = [&](const Travelling& chunk) {
    return content_.deliver(chunk.wanted, chunk.bytes, chunk.digest, is_connected);
  };
  while (outcome) {
    // With a chunk in hand, the wait for the last chunks would be a wait for itself.
    outcome = ask(*stream, asked, arrived.empty());
    if (!outcome || (asked.empty() && arrived.empty())) break;
    if (!asked.empty()) {
      outcome = receive_one(*stream, asked.front());
      if (!outcome) break;
      arrived.push_back(std::move(asked.front()));
      asked.pop_front();
      const Travelling& last = arrived.back();
      if (!content_.knows_digest(last.wanted.id)) outcome = content_.write_early(last.wanted, *last.bytes, last.digest);
    }
    // The digest comes by way of the controller, often later than the chunk. Meanwhile the next chunk is received.
    const auto is_due = [&] {
      return asked.empty() || arrived.size() > kMostInHand || content_.knows_digest(arrived.front().wanted.id);
    };
    while (outcome && !arrived.empty() && is_due()) {
      outcome = deliver(arrived.front());
      is_refused = !outcome;
      if (outcome) arrived.pop_front();
    }
  }
  give_all_back(asked);
  // A chunk that has arrived needs no connection any more. One that was refused would only be awaited or compared
  // again.
  while (!is_refused && !arrived.empty() && deliver(arrived.front())) arrived.pop_front();
  give_all_back(arrived);
  return outcome;
}

/// Last first, so that the next connection asks for them in order.
void ChunkFetcher::give_all_back(const std::deque<Travelling>& chunks) {
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) content_.give_back(chunk->wanted);
}

Result<void> ChunkFetcher::receive_one(PeerStream& stream, Travelling& chunk) {
  const Wanted& wanted = chunk.wanted;
  std::array<char, kReplyBytes> reply{};
  SPARK_CHECK(stream.receive(reply.data(), reply.size()));
  const ChunkId id{number_from(reply.data()), number_from(reply.data() + 4)};
  if (id != wanted.id || number_from(reply.data() + 8) != wanted.bytes) {
    return failure(ErrorCode::kVerifyFailed, "the other node sent another chunk than was asked for");
  }
  auto bytes = chunk_buffer(wanted.bytes);
  const bool zeros = number_from(reply.data() + 12) != 0;
  if (zeros) std::fill(bytes->begin(), bytes->end(), '\0');
  ChunkHash hash;
  for (std::size_t at = 0; at < bytes->size(); at += kPart) {
    const auto size = std::min(kPart, bytes->size() - at);
    if (!zeros) SPARK_CHECK(stream.receive(bytes->data() + at, size));
    hash.add(bytes->data() + at, size);
  }
  chunk.digest = hash.take();
  chunk.bytes = std::move(bytes);
  return {};
}

}  // namespace sparkplan::copy
