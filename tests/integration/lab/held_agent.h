#pragma once

#include <sys/types.h>

#include "tests/integration/lab/host.h"

namespace sparkplan::test {

/// Stops the agent of a run right before it syncs its journal, so that a case can act at that moment. The agent syncs
/// the journal before each step, together with the result of the step before it.
class HeldAgent {
 public:
  /// Attaches to the only agent on `host`; throws when the host has no agent.
  explicit HeldAgent(const Host& host);
  HeldAgent(const HeldAgent&) = delete;
  HeldAgent& operator=(const HeldAgent&) = delete;
  /// Detaches; the agent continues.
  ~HeldAgent();

  /// Lets the agent run until it is about to sync its journal for the `count`-th time; throws when it does not reach
  /// that call in time.
  void run_to_journal_sync(int count) const;
  /// True once data, or the end of file, has arrived at the agent's standard input.
  bool has_input() const;
  void kill();
  void let_go();

 private:
  void run_to_system_call() const;

  pid_t pid_ = -1;
  int input_ = -1;
  bool held_ = false;
};

}  // namespace sparkplan::test
