#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "engine/copy/content.h"
#include "engine/copy/peer_stream.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// The bytes of a request: file and chunk. Those of a reply before its data: file, chunk, length, and 1 if all of the
/// chunk is zeros, which are not sent.
inline constexpr std::size_t kRequestBytes = 8;
inline constexpr std::size_t kReplyBytes = 16;

/// Serves chunks to one other node. It listens on one address, accepts connections of one address only, and each token
/// once. Of too many connections without a token the oldest ends, and their number in each moment is bounded. The
/// listener closes when all tokens are used, or after a while.
class ChunkServer {
 public:
  /// Errors: kInvalidInput, kFailed.
  static Result<std::unique_ptr<ChunkServer>> start(const CopyServe& command, Content& content, Traffic& traffic);
  ~ChunkServer();
  ChunkServer(const ChunkServer&) = delete;
  ChunkServer& operator=(const ChunkServer&) = delete;

  int port() const { return port_; }
  std::int64_t link() const { return command_.link; }
  /// Ends the connections, and accepts no more. Does not wait for their threads: one may wait for a chunk.
  void drop();

 private:
  ChunkServer(CopyServe command, Content& content, Traffic& traffic);
  /// One accepted connection, and its thread.
  struct Visitor {
    FileDescriptor socket;  ///< Until the connection has shown a token.
    bool is_stranger = true;
    bool ended = false;
    std::jthread thread;
  };
  void accept_all();
  void receive(FileDescriptor socket);
  void admit(Visitor& visitor);
  void serve(PeerStream& stream);
  /// The key of an unused token, which is used from now on; nothing for any other text.
  std::optional<std::string> use(std::string_view token);
  bool all_used();

  CopyServe command_;
  Content& content_;
  Traffic& traffic_;
  FileDescriptor listener_;
  int port_ = 0;
  std::mutex mutex_;
  bool ends_ = false;
  std::vector<bool> used_;
  std::list<PeerStream> streams_;
  std::list<Visitor> visitors_;
  std::jthread acceptor_;
};

}  // namespace sparkplan::copy
