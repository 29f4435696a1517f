#include "engine/cli/terminal/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include "engine/report/exit_code.h"

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

Interrupts::Interrupts(const Console& console, InterruptWords words) {
  const auto set = watched_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this, set, words, &console](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      int signal = 0;
      if (::sigwait(&set, &signal) != 0) continue;
      if (ended.stop_requested()) return;
      if (console.screen().is_held()) {
        // The question ends at the stop and restores the terminal. The user waits for no step meanwhile.
        source_.request_stop();
        continue;
      }
      if (source_.stop_requested()) {
        const Screen::Hold nothing_is_left_behind(console.screen());
        console.interject("sparkplan: stopped at once; " + std::string(words.second) + "\n");
        ::_exit(static_cast<int>(ExitCode::kUsage));
      }
      console.interject("sparkplan: " + std::string(words.first) + " (Ctrl-C again: at once)\n");
      source_.request_stop();
    }
  });
}

Interrupts::~Interrupts() {
  watcher_.request_stop();
  // Wake the watcher: a command that has ended must not wait for it.
  // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread): it is blocked in all threads and waited for by this one.
  ::pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  const auto set = watched_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace sparkplan
