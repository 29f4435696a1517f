#include "engine/cli/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace sparkplan {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interrupts::Interrupts() {
  const auto set = watched_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this, set](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      int signal = 0;
      if (::sigwait(&set, &signal) != 0) continue;
      if (ended.stop_requested()) return;
      if (source_.stop_requested()) {
        std::fputs("\nsparkplan: ended at once; what was in hand on the nodes is finished by their agents\n", stderr);
        ::_exit(1);
      }
      std::fputs("\nsparkplan: stopping after the step in hand (again: at once)\n", stderr);
      source_.request_stop();
    }
  });
}

Interrupts::~Interrupts() {
  watcher_.request_stop();
  // Wakes it: a command that has ended must not wait for its watcher.
  ::pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  const auto set = watched_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace sparkplan
