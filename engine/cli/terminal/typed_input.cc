#include "engine/cli/terminal/typed_input.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace sparkplan {
namespace {

constexpr int kTypingPatience = 100;  // Milliseconds until a stop is noticed.
constexpr std::size_t kLongestTyped = 80;

Error stopped_at_question() { return make_error(ErrorCode::kInterrupted, "stopped"); }

/// The error for a controlling terminal that cannot be opened.
/// Source: tty(4), and open(2), ENXIO.
Error no_terminal(int error_number, std::string_view asked_for) {
  const bool none = error_number == ENXIO || error_number == ENOENT || error_number == ENODEV || error_number == ENOTTY;
  if (!none) return system_error("open the terminal", error_number);
  return make_error(ErrorCode::kFailed, "there is no terminal to ask for a " + std::string(asked_for) + " on",
                    "run the command on a terminal");
}

bool in_foreground(int terminal) { return ::tcgetpgrp(terminal) == ::getpgrp(); }

/// In the background, a change of the terminal would stop the whole process, and a stop request could not end it.
/// Source: tcsetattr(3), credentials(7).
class NoStopByTerminal {
 public:
  NoStopByTerminal() {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGTTOU);
    ::sigaddset(&both, SIGTTIN);
    ::pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  NoStopByTerminal(const NoStopByTerminal&) = delete;
  NoStopByTerminal& operator=(const NoStopByTerminal&) = delete;
  ~NoStopByTerminal() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

Result<Secret> ask_silently(std::string_view asked_for, const std::string& prompt, Screen& screen,
                            const std::stop_token& stop) {
  const Screen::Hold nothing_is_drawn(screen);
  if (stop.stop_requested()) return failure(stopped_at_question());
  // Ctrl-D makes a part of a line readable. A read that waited for the rest would not end at a stop.
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0) return failure(no_terminal(errno, asked_for));
  const NoStopByTerminal goes_on;
  if (!in_foreground(terminal)) {
    ::close(terminal);
    return failure(
        ErrorCode::kFailed,
        "there is no terminal to ask for a " + std::string(asked_for) + " on: the command runs in the background",
        "run the command in the foreground");
  }
  termios before{};
  ::tcgetattr(terminal, &before);
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(terminal, TCSAFLUSH, &silent);
  (void)!::write(terminal, prompt.data(), prompt.size());
  auto secret = wait_for_typing(terminal, stop) ? Secret::read_line(terminal) : failure(stopped_at_question());
  (void)!::write(terminal, "\n", 1);
  ::tcsetattr(terminal, TCSAFLUSH, &before);
  ::close(terminal);
  return secret;
}

}  // namespace

bool wait_for_typing(int terminal, const std::stop_token& stop) {
  // The signals are blocked, so that no signal interrupts this call. Hence the short waits.
  pollfd readable{terminal, POLLIN, 0};
  while (!stop.stop_requested()) {
    const int count = ::poll(&readable, 1, kTypingPatience);
    if (count > 0 || (count < 0 && errno != EINTR)) break;  // The read reports an error.
  }
  return !stop.stop_requested();
}

std::optional<std::string> typed_line(int terminal, const std::stop_token& stop) {
  std::string line;
  // Byte by byte, because Ctrl-D makes a part of a line readable, and no byte of the next line may be lost.
  while (wait_for_typing(terminal, stop)) {
    char one = '\0';
    const auto count = ::read(terminal, &one, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1 || one == '\n') return line;
    if (line.size() < kLongestTyped) line += one;
  }
  return std::nullopt;
}

Result<Secret> ask_password(const std::string& prompt, Screen& screen, const std::stop_token& stop) {
  return ask_silently("password", prompt, screen, stop);
}

Result<Secret> ask_passphrase(const std::string& prompt, Screen& screen, const std::stop_token& stop) {
  return ask_silently("passphrase", prompt, screen, stop);
}

}  // namespace sparkplan
