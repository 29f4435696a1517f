#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/copy/rate_limit.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"

namespace sparkplan::copy {

/// The state that all connections of a process share.
struct Traffic {
  RateLimit sending;
  RateLimit receiving;
  std::atomic<std::int64_t> sent{0};
  std::atomic<std::int64_t> received{0};
};

/// A connection to another node. With a key, all bytes are in records of AES-256-GCM; each direction counts its
/// records, so that none can be left out, repeated or moved.
class PeerStream {
 public:
  enum class Side : std::uint8_t { kServes, kFetches };

  /// `key`: 32 bytes for this connection alone, or empty.
  PeerStream(FileDescriptor socket, std::string key, Side side, Traffic& traffic);
  PeerStream(PeerStream&&) noexcept;
  PeerStream& operator=(PeerStream&&) = delete;
  ~PeerStream();

  /// Errors: kUnreachable.
  Result<void> send(std::string_view bytes);
  /// Fills `into`. After an error, `into` may have the bytes of earlier records, and every further call fails if the
  /// stream has a key.
  /// Errors: kUnreachable, also at the end of the stream; kVerifyFailed (a record was forged).
  Result<void> receive(char* into, std::size_t size);
  /// False once the other node has ended the connection, or does not answer the kernel. Does not wait.
  bool is_connected() const;
  /// Ends all waits, from any thread.
  void shut_down() const;

 private:
  struct Cipher;
  Result<void> send_raw(const char* bytes, std::size_t size);
  Result<void> receive_raw(char* into, std::size_t size);
  Result<void> open_record();

  FileDescriptor socket_;
  Traffic* traffic_;
  std::unique_ptr<Cipher> cipher_;
};

/// Takes the same time for every text of that length.
bool same_token(std::string_view one, std::string_view other);
/// Sets what every connection needs: no delay, and the detection of a peer that has vanished.
void prepare_socket(int socket);

}  // namespace sparkplan::copy
