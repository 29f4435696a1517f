#include "engine/cli/terminal/password.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace sparkplan {

Result<Secret> ask_password(const std::string& prompt) {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return failure(system_error("there is no terminal to ask for a password on", errno));
  termios before{};
  ::tcgetattr(terminal, &before);
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(terminal, TCSAFLUSH, &silent);
  (void)!::write(terminal, prompt.data(), prompt.size());
  auto password = Secret::read_line(terminal);
  (void)!::write(terminal, "\n", 1);
  ::tcsetattr(terminal, TCSAFLUSH, &before);
  ::close(terminal);
  return password;
}

}  // namespace sparkplan
