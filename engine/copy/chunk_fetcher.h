#pragma once

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/peer_stream.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Fetches what is missing from one other node, over one connection per token.
class ChunkFetcher {
 public:
  ChunkFetcher(const CopyFetch& command, Content& content, Traffic& traffic);
  ~ChunkFetcher();
  ChunkFetcher(const ChunkFetcher&) = delete;
  ChunkFetcher& operator=(const ChunkFetcher&) = delete;

  std::int64_t link() const { return command_.link; }
  /// Ends the connections, without waiting for their threads. What they have asked for is given back; lost() stays
  /// empty.
  void drop();
  /// The first error, once all connections have ended with chunks still missing. Reported once.
  std::optional<Error> lost();
  /// All connections have ended, and lost() has nothing to report.
  bool is_over();

 private:
  void work(std::size_t place);
  Result<void> fetch(std::size_t place);
  Result<PeerStream*> open(std::size_t place);
  /// A chunk on its way: asked for, then received and not delivered.
  struct Travelling {
    Wanted wanted;
    std::shared_ptr<std::vector<char>> bytes = nullptr;
    Digest digest = {};
  };
  Result<void> ask(PeerStream& stream, std::deque<Travelling>& asked, bool may_wait);
  Result<void> receive_one(PeerStream& stream, Travelling& chunk);
  void give_all_back(const std::deque<Travelling>& chunks);

  CopyFetch command_;
  Content& content_;
  Traffic& traffic_;
  std::mutex mutex_;
  bool ends_ = false;
  std::size_t running_ = 0;
  std::optional<Error> error_;
  std::list<PeerStream> streams_;
  std::vector<std::jthread> threads_;
};

}  // namespace sparkplan::copy
