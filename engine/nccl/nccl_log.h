#pragma once

#include <string>
#include <string_view>

#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {

/// What NCCL's log (NCCL_DEBUG=INFO, subsystems INIT and NET) says of the transport. Pure; lines that it
/// does not know are passed over.
/// Source: NCCL, src/transport/net_ib, net_socket.cc, net.cc, p2p.cc, shm.cc; the same from 2.21 to 2.30.
NcclTransport transport_in(std::string_view log);

/// NCCL's log, kept in memory: nothing is left when the program ends, however it does.
class LogFile {
 public:
  /// Errors: kFailed.
  static Result<LogFile> create();
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile();

  /// For NCCL_DEBUG_FILE.
  std::string path() const;
  /// What has been written so far, at most its last MiB.
  std::string text() const;

 private:
  explicit LogFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace sparkplan::nccl
