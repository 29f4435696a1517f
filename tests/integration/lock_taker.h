#pragma once

#include "engine/process/child_process.h"
#include "engine/wire/frame.h"
#include "tests/integration/host.h"

namespace sparkplan::test {

/// Another run at work on a host: an agent that has the node's lock for as long as the object lives.
/// The agent has to be on the host already.
class LockTaker {
 public:
  LockTaker(const Host& host, const std::string& who);

 private:
  Value receive();

  ChildProcess agent_;
  FrameReader reader_;
};

}  // namespace sparkplan::test
