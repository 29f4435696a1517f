#include "engine/cli/terminal/typed_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace sparkplan {
namespace {

constexpr int kTypingPatience = 100;  // Milliseconds until a stop is noticed.
constexpr std::size_t kLongestTyped = 80;

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

}  // namespace sparkplan
