#pragma once

#include <string>

#include "tests/integration/lab/controller.h"

namespace sparkplan::test {

/// Receives the syslog messages of a program that it starts, independent of this machine's logging.
class SyslogSocket {
 public:
  SyslogSocket();
  SyslogSocket(const SyslogSocket&) = delete;
  SyslogSocket& operator=(const SyslogSocket&) = delete;
  ~SyslogSocket();

  /// The argv that runs `argv` with this socket as its /dev/log.
  Words logging_here(const Words& argv) const;
  /// Closes the socket: from here on, no process receives the messages.
  void fall_silent();
  /// All messages logged so far, one per line.
  std::string read();

 private:
  ScratchDirectory scratch_;
  int socket_ = -1;
  bool made_mount_point_ = false;
};

}  // namespace sparkplan::test
