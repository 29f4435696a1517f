#pragma once

#include <sys/types.h>

#include "tests/integration/host.h"

namespace sparkplan::test {

/// Holds the agent that serves a run on a host right before it syncs its journal, so that a case can
/// act at that very moment. The journal is synced before and after each step.
class HeldAgent {
 public:
  /// Takes hold of the only agent on `host`; throws when there is none.
  explicit HeldAgent(const Host& host);
  HeldAgent(const HeldAgent&) = delete;
  HeldAgent& operator=(const HeldAgent&) = delete;
  /// Lets go.
  ~HeldAgent();

  /// Lets it run until it is about to sync its journal for the `count`-th time; throws when it does
  /// not get there in time.
  void run_to_journal_sync(int count) const;
  /// True once something to read has arrived at its standard input.
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
