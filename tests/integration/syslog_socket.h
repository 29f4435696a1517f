#pragma once

#include <string>

#include "tests/integration/controller.h"

namespace sparkplan::test {

/// Stands where a program that it starts looks for syslog, whatever this machine logs with.
class SyslogSocket {
 public:
  SyslogSocket();
  SyslogSocket(const SyslogSocket&) = delete;
  SyslogSocket& operator=(const SyslogSocket&) = delete;
  ~SyslogSocket();

  /// argv that runs `argv` with this as its /dev/log.
  Words logging_here(const Words& argv) const;
  /// From here on nobody takes what is logged.
  void fall_silent();
  /// Everything logged so far, one message a line.
  std::string read();

 private:
  ScratchDirectory scratch_;
  int socket_ = -1;
  bool made_mount_point_ = false;
};

}  // namespace sparkplan::test
