#include "tests/integration/lab/terminal.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace sparkplan::test {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds until(Clock::time_point end) {
  return std::max(std::chrono::milliseconds(0),
                  std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
}

}  // namespace

Terminal::Terminal(const Words& argv) {
  std::vector<char*> arguments;
  for (const auto& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  winsize size{};
  size.ws_row = 50;
  size.ws_col = 200;
  pid_ = ::forkpty(&descriptor_, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error("no terminal");
  if (pid_ == 0) {
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
}

Terminal::~Terminal() {
  if (!status_) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(descriptor_);
}

bool Terminal::read_some(std::chrono::milliseconds patience) {
  pollfd readable{descriptor_, POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(patience.count())) <= 0) return true;
  std::array<char, 4096> buffer{};
  const auto count = ::read(descriptor_, buffer.data(), buffer.size());
  if (count <= 0) return false;  // EIO: the last process that had the terminal open has ended.
  transcript_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool Terminal::wait_for(std::string_view text, std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  while (!contains(transcript_, text)) {
    if (ended_ || Clock::now() >= end) return false;
    ended_ = !read_some(until(end));
  }
  return true;
}

void Terminal::type(std::string_view keys) const {
  if (::write(descriptor_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) {
    throw std::runtime_error("the terminal takes no keys");
  }
}

void Terminal::kill() const { ::kill(pid_, SIGKILL); }

std::optional<int> Terminal::finish(std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  while (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (Clock::now() >= end) {
      return std::nullopt;
    }
    if (!ended_) ended_ = !read_some(std::chrono::milliseconds(status_ ? 0 : 50));
  }
  while (!ended_ && Clock::now() < end) {
    const auto before = transcript_.size();
    ended_ = !read_some(std::chrono::milliseconds(0)) || transcript_.size() == before;
  }
  return status_;
}

}  // namespace sparkplan::test
