// Questions on the terminal, and how Ctrl-C ends them.
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cli/terminal/typed_input.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using Clock = std::chrono::steady_clock;

constexpr const char* kCtrlC = "\x03";
constexpr const char* kCtrlD = "\x04";
constexpr std::chrono::seconds kDeadline{60};

/// A cluster.yaml with one node, whose port has no server.
std::string cluster_in(const ScratchDirectory& root) {
  const auto path = (root / "cluster.yaml").string();
  std::ofstream(path) << "version: 1\nname: lab\nssh: {user: root, port: 1}\n"
                         "nodes:\n  - {name: n1, address: 127.0.0.1}\n";
  return path;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The built program on a terminal of its own.
class OnTerminal {
 public:
  /// `typed`: before the program begins.
  explicit OnTerminal(std::vector<std::string> arguments, std::string_view typed = {}) {
    arguments.insert(arguments.begin(), SPARKPLAN_BINARY);
    std::vector<char*> argv;
    for (auto& one : arguments) argv.push_back(one.data());
    argv.push_back(nullptr);
    REQUIRE(::openpty(&screen_, &line_, nullptr, nullptr, nullptr) == 0);
    type(typed);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    // The test keeps its end of the line: the mode of a terminal is lost when all processes have closed it.
    if (child_ > 0) return;
    ::close(screen_);
    if (::login_tty(line_) == 0) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;
  ~OnTerminal() {
    if (!status_) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(line_);
    ::close(screen_);
  }

  bool shows(std::string_view text) {
    const auto end = Clock::now() + kDeadline;
    while (!contains(shown_, text) && Clock::now() < end) read_some();
    return contains(shown_, text);
  }
  void type(std::string_view keys) const {
    REQUIRE(::write(screen_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  bool echoes() const {
    termios mode{};
    REQUIRE(::tcgetattr(line_, &mode) == 0);
    return (mode.c_lflag & static_cast<tcflag_t>(ECHO)) != 0;
  }
  /// The exit code; nothing if the program still waits at the deadline.
  std::optional<int> finish() {
    const auto end = Clock::now() + kDeadline;
    while (!status_ && Clock::now() < end) {
      int status = 0;
      if (::waitpid(child_, &status, WNOHANG) == child_) status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      while (read_some()) continue;
    }
    return status_;
  }
  const std::string& shown() const { return shown_; }

 private:
  bool read_some() {
    pollfd readable{screen_, POLLIN, 0};
    if (::poll(&readable, 1, 20) <= 0) return false;
    std::array<char, 4096> buffer{};
    const auto count = ::read(screen_, buffer.data(), buffer.size());
    if (count > 0) shown_.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  int screen_ = -1;
  int line_ = -1;
  pid_t child_ = -1;
  std::optional<int> status_;
  std::string shown_;
};

/// The output of `ask` in a process without a terminal.
template <class Ask>
std::string without_terminal(Ask ask) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setsid();
    Screen screen;
    const auto answer = ask(screen);
    const std::string text = answer ? "an answer" : answer.error().describe();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::array<char, 512> buffer{};
  const auto count = ::read(ends[0], buffer.data(), buffer.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  REQUIRE(count >= 0);
  return {buffer.data(), static_cast<std::size_t>(count)};
}

/// The output of `ask` in a process of the background; "stopped" if the terminal stops the process.
template <class Ask>
std::string in_background(Ask ask) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  int terminal = -1;
  const pid_t shell = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(shell >= 0);
  if (shell == 0) {
    const pid_t job = ::fork();
    ::setpgid(job, job);
    if (job == 0) {
      Screen screen;
      const auto answer = ask(screen);
      const std::string text = answer ? "an answer" : answer.error().describe();
      (void)!::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(job, &status, WUNTRACED);
    if (WIFSTOPPED(status)) (void)!::write(ends[1], "stopped", 7);
    ::kill(job, SIGKILL);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::array<char, 512> buffer{};
  const auto count = ::read(ends[0], buffer.data(), buffer.size());
  ::close(ends[0]);
  ::waitpid(shell, nullptr, 0);
  ::close(terminal);
  REQUIRE(count >= 0);
  return {buffer.data(), static_cast<std::size_t>(count)};
}

}  // namespace

TEST_CASE("Ctrl-C ends the question for a password at once, and the terminal echoes again") {
  const ScratchDirectory root;
  OnTerminal program({"plan", cluster_in(root), "--ask-become-pass"});
  REQUIRE(program.shows("Password for sudo on the nodes: "));
  CHECK_FALSE(program.echoes());
  program.type(std::string("half") + kCtrlC);
  const auto code = program.finish();
  INFO(program.shown());
  CHECK(code == 1);
  CHECK(program.echoes());
  CHECK_FALSE(contains(program.shown(), "stopping after the current step"));
  CHECK(contains(program.shown(), "Password for sudo on the nodes: \r\nsparkplan: error: stopped\r\n"));
  CHECK_FALSE(contains(program.shown(), "connecting"));
}

TEST_CASE("Ctrl-C at the password of init asks nothing else and reads no machine") {
  const ScratchDirectory root;
  OnTerminal program({"init", "-o", (root / "new.yaml").string(), "localhost:1", "--ask-become-pass"});
  REQUIRE(program.shows("Password for sudo on the machines: "));
  program.type(kCtrlC);
  const auto code = program.finish();
  INFO(program.shown());
  CHECK(code == 1);
  CHECK(program.echoes());
  CHECK_FALSE(contains(program.shown(), "stopping after"));
  CHECK_FALSE(contains(program.shown(), "refused"));
}

TEST_CASE("Ctrl-C at a question for yes or no is a no, also behind a part of an answer") {
  const ScratchDirectory root;
  const auto file = cluster_in(root);
  const auto before = content_of(file);
  for (const std::string typed : {"", "y", kCtrlD}) {
    OnTerminal program({"init", "-o", file, "localhost:1"});
    REQUIRE(program.shows("[y/N] "));
    program.type(typed == kCtrlD ? typed : typed + kCtrlC);
    const auto code = program.finish();
    INFO(program.shown());
    CHECK(code == 1);
    CHECK(contains(program.shown(), "The file was not changed."));
    CHECK_FALSE(contains(program.shown(), "stopping after"));
    CHECK(content_of(file) == before);
  }
}

TEST_CASE("what was typed before a question for yes or no is no answer to it") {
  const ScratchDirectory root;
  const auto file = cluster_in(root);
  const auto before = content_of(file);
  OnTerminal program({"init", "-o", file, "localhost:1"}, "y\n");
  REQUIRE(program.shows("[y/N] "));
  program.type("n\n");
  const auto code = program.finish();
  INFO(program.shown());
  CHECK(code == 1);
  CHECK(contains(program.shown(), "The file was not changed."));
  CHECK(content_of(file) == before);
}

TEST_CASE("after a stop, nothing is asked") {
  std::stop_source stop;
  stop.request_stop();
  Screen screen;
  for (const auto& ask : {ask_password, ask_passphrase}) {
    const auto answer = ask("Password: ", screen, stop.get_token());
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kInterrupted);
  }
}

TEST_CASE("without a terminal, a question says what it would ask for") {
  const auto password = without_terminal([](Screen& screen) { return ask_password("?", screen, {}); });
  CHECK(password == "there is no terminal to ask for a password on");
  const auto passphrase = without_terminal([](Screen& screen) { return ask_passphrase("?", screen, {}); });
  CHECK(passphrase == "there is no terminal to ask for a passphrase on");
}

TEST_CASE("in the background, a question is an error and does not stop the process") {
  const auto passphrase = in_background([](Screen& screen) { return ask_passphrase("?", screen, {}); });
  CHECK(passphrase == "there is no terminal to ask for a passphrase on: the command runs in the background");
}

TEST_CASE("without a terminal, the reason of a node's failure is printed once, in the result") {
  const ScratchDirectory root;
  const auto run = test::sparkplan({"plan", cluster_in(root)});
  INFO(run.standard_error);
  CHECK(contains(run.standard_output, "port 1: Connection refused"));
  CHECK(contains(run.standard_error, "n1: failed, the result has the reason\n"));
  CHECK_FALSE(contains(run.standard_error, "refused"));
}

}  // namespace sparkplan
