#pragma once

#include <string>
#include <string_view>
#include <thread>

#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {

/// The transport according to NCCL's log (NCCL_DEBUG=INFO, subsystems INIT and NET). Pure; unknown lines are skipped.
/// Source: NCCL, src/transport/net_ib, net_socket.cc, net.cc, p2p.cc, shm.cc; the same from 2.21 to 2.30.
NcclTransport transport_in(std::string_view log);

/// NCCL's log, in a file in memory: no file is left, even if the program is killed. Once per second a thread gives back
/// the memory of all but the last MiB.
class LogFile {
 public:
  /// Errors: kFailed, those of start_thread().
  static Result<LogFile> create();
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile();

  /// For NCCL_DEBUG_FILE.
  std::string path() const;
  /// The log written so far, at most its last MiB.
  std::string text() const;

 private:
  explicit LogFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
  std::jthread shortener_;  ///< Uses the descriptor until it is joined.
};

}  // namespace sparkplan::nccl
