// drift --splay, stopped while it waits.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

extern char** environ;

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// The running program, with its standard error.
class Running {
 public:
  explicit Running(std::vector<std::string> arguments) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    arguments.insert(arguments.begin(), SPARKPLAN_BINARY);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    ::posix_spawn_file_actions_addclose(&actions, ends[0]);
    REQUIRE(::posix_spawn(&pid_, SPARKPLAN_BINARY, &actions, nullptr, argv.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    said_ = ends[0];
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(said_);
  }

  /// Reads through the end of `text`, or to the end of the output.
  const std::string& read_to(std::string_view text) {
    const auto end = Clock::now() + std::chrono::seconds(30);
    while (text.empty() || heard_.find(text) == std::string::npos) {
      pollfd readable{said_, POLLIN, 0};
      if (::poll(&readable, 1, 1000) == 0 && Clock::now() < end) continue;
      std::array<char, 4096> buffer{};
      const auto count = Clock::now() < end ? ::read(said_, buffer.data(), buffer.size()) : 0;
      if (count <= 0) break;
      heard_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return heard_;
  }
  void send(int signal) const { ::kill(pid_, signal); }
  int exit_status() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int said_ = -1;
  std::string heard_;
};

}  // namespace

TEST_CASE("a signal ends the wait of --splay at once, before any node is read") {
  const test::ScratchDirectory folder;
  folder.make_directory("/root");
  folder.write("/cluster.yaml", "version: 1\nname: lab\nnodes:\n  - {name: n1, transport: local, root: \"" +
                                    (folder / "/root").string() + "\"}\n");
  for (const int signal : {SIGTERM, SIGINT}) {
    Running drift({"-v", "drift", "--splay", "1000h", "--textfile", (folder / "/drift.prom").string(),
                   (folder / "/cluster.yaml").string()});
    REQUIRE(test::contains(drift.read_to("starting in "), "starting in "));
    const auto asked = Clock::now();
    drift.send(signal);
    const auto& said = drift.read_to("");
    CHECK(Clock::now() - asked < std::chrono::seconds(5));
    INFO(said);
    CHECK(test::contains(said, "stopped before any node was contacted"));
    CHECK_FALSE(test::contains(said, "stopping after the current step"));
    CHECK_FALSE(test::contains(said, "n1"));
    CHECK(drift.exit_status() == 4);
    CHECK_FALSE(std::filesystem::exists(folder / "/drift.prom"));
  }
}

}  // namespace sparkplan
