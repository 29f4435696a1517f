#pragma once

#include "engine/process/child_process.h"
#include "engine/wire/frame.h"
#include "tests/integration/lab/host.h"

namespace sparkplan::test {

/// Another run on a host: an agent that holds the node's lock while the object lives. The agent program must be
/// installed on the host.
class LockTaker {
 public:
  LockTaker(const Host& host, const std::string& who);

 private:
  Value receive();

  ChildProcess agent_;
  FrameReader reader_;
};

}  // namespace sparkplan::test
