#include "engine/cli/terminal/password.h"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace sparkplan {
namespace {

constexpr int kStopPatience = 100;  // Milliseconds until a stop is noticed.

}  // namespace

Result<Secret> ask_password(const std::string& prompt, const std::stop_token& stop) {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return failure(system_error("there is no terminal to ask for a password on", errno));
  termios before{};
  ::tcgetattr(terminal, &before);
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(terminal, TCSAFLUSH, &silent);
  (void)!::write(terminal, prompt.data(), prompt.size());
  // read() would resume after Ctrl-C, so the program reads only when there is a line.
  pollfd readable{terminal, POLLIN, 0};
  while (!stop.stop_requested() && ::poll(&readable, 1, kStopPatience) == 0) continue;
  auto password =
      stop.stop_requested() ? Result<Secret>(failure(ErrorCode::kInterrupted, "stopped")) : Secret::read_line(terminal);
  (void)!::write(terminal, "\n", 1);
  ::tcsetattr(terminal, TCSAFLUSH, &before);
  ::close(terminal);
  return password;
}

}  // namespace sparkplan
