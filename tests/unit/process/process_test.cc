#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "engine/process/child_process.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Result<CapturedOutput> capture(const std::vector<std::string>& argv, const CaptureLimits& limits = {}) {
  return run_and_capture(argv, limits);
}

/// Polls until the condition is true; false after ten seconds.
template <class Condition>
bool becomes_true(Condition condition) {
  for (const auto end = Clock::now() + std::chrono::seconds(10); Clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

/// Reaped, or dead and not yet reaped by its new parent.
bool has_ended(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto state = text.rfind(") ");
  return !file || state == std::string::npos || text[state + 2] == 'Z' || text[state + 2] == 'X';
}

std::string read_until(int descriptor, std::size_t size) {
  std::string text;
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (text.size() < size && Clock::now() < end) {
    pollfd readable{descriptor, POLLIN, 0};
    if (::poll(&readable, 1, 100) <= 0) continue;
    std::array<char, 4096> buffer{};
    const auto count = ::read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

TEST_CASE("a program's output, errors and exit status are captured separately") {
  const auto output = capture({"sh", "-c", "echo out; echo err >&2; exit 7"});
  REQUIRE(output);
  CHECK(output->exit_status == 7);
  CHECK(output->standard_output == "out\n");
  CHECK(output->standard_error == "err\n");
}

TEST_CASE("a program ended by a signal has an exit status of 128 plus the signal's number") {
  const auto output = capture({"sh", "-c", "kill -TERM $$"});
  REQUIRE(output);
  CHECK(output->exit_status == 128 + SIGTERM);
}

TEST_CASE("arguments reach the program unchanged, without a shell") {
  const std::vector<std::string> strange{"printf", "%s|", "$HOME", "`id`", "a b", "", "*", "'\"\\", "; false", "\xff"};
  const auto output = capture(strange);
  REQUIRE(output);
  CHECK(output->exit_status == 0);
  CHECK(output->standard_output == "$HOME|`id`|a b||*|'\"\\|; false|\xff|");
}

TEST_CASE("standard input is empty") {
  const auto output = capture({"cat"}, {std::chrono::seconds(20)});
  REQUIRE(output);
  CHECK(output->exit_status == 0);
  CHECK(output->standard_output.empty());
}

TEST_CASE("a missing program is not found, by name or by path") {
  for (const std::string name : {"no-such-program-of-ours", "/nonexistent/program"}) {
    INFO(name);
    const auto output = capture({name});
    REQUIRE_FALSE(output);
    CHECK(output.error().code == ErrorCode::kNotFound);
  }
  CHECK(capture({}).error().code == ErrorCode::kBug);
}

TEST_CASE("programs are searched for in fixed directories and never in PATH") {
  const auto folder = std::filesystem::temp_directory_path() / ("sparkplan-path-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  for (const char* name : {"only-in-path-of-ours", "true"}) {
    std::ofstream(folder / name) << "#!/bin/sh\nexit 99\n";
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  const std::string before = ::getenv("PATH");
  ::setenv("PATH", (folder.string() + ":" + before).c_str(), 1);
  const auto ours = capture({"only-in-path-of-ours"});
  const auto standard = capture({"true"});
  ::setenv("PATH", before.c_str(), 1);
  std::filesystem::remove_all(folder);
  CHECK(ours.error().code == ErrorCode::kNotFound);
  REQUIRE(standard);
  CHECK(standard->exit_status == 0);
}

TEST_CASE("output beyond the size limit is read and discarded, so that the program can end") {
  const std::string script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo end";
  const auto output = capture({"sh", "-c", script}, {std::chrono::seconds(60), 1000});
  REQUIRE(output);
  CHECK(output->exit_status == 0);
  CHECK(output->standard_output == std::string(1000, '\0'));
  CHECK(output->standard_error == std::string(1000, '\0'));
  CHECK(output->cut_off);
}

TEST_CASE("output up to the size limit is complete, whatever the size of standard error") {
  for (const std::string script : {"head -c 1000 /dev/zero", "head -c 1000 /dev/zero; head -c 1001 /dev/zero >&2"}) {
    const auto output = capture({"sh", "-c", script}, {std::chrono::seconds(60), 1000});
    REQUIRE(output);
    CHECK(output->standard_output.size() == 1000);
    CHECK_FALSE(output->cut_off);
  }
}

TEST_CASE("a long-running program causes calls for signs of life") {
  const auto file = std::filesystem::temp_directory_path() / ("sparkplan-sign-" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  CaptureLimits limits;
  limits.sign_of_life_interval = milliseconds(10);
  // The program ends after the first sign of life.
  limits.sign_of_life = [&] { std::ofstream(file) << "alive"; };
  const auto output = capture({"sh", "-c", "until test -e \"$1\"; do sleep 0.01; done", "sh", file.string()}, limits);
  std::filesystem::remove(file);
  REQUIRE(output);
  CHECK(output->exit_status == 0);
}

TEST_CASE("a program runs while its caller goes on, and its output is captured at the end") {
  const auto folder = std::filesystem::temp_directory_path() / ("sparkplan-started-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto began = folder / "began";
  const auto goes_on = folder / "goes-on";
  const std::string script = "touch '" + began.string() + "'; until [ -e '" + goes_on.string() +
                             "' ]; do sleep 0.01; done; echo out; echo err >&2; exit 3";
  auto child = start_to_capture(std::vector<std::string>{"sh", "-c", script});
  REQUIRE(child);
  CHECK(becomes_true([&] { return std::filesystem::exists(began); }));
  std::ofstream(goes_on).flush();
  const auto output = wait_and_capture(std::move(*child), "sh");
  std::filesystem::remove_all(folder);
  REQUIRE(output);
  CHECK(output->exit_status == 3);
  CHECK(output->standard_output == "out\n");
  CHECK(output->standard_error == "err\n");
  CHECK(start_to_capture(std::vector<std::string>{"no-such-program"}).error().code == ErrorCode::kNotFound);
}

TEST_CASE("a program that exceeds its deadline is killed with its whole process group") {
  const auto folder = std::filesystem::temp_directory_path() / ("sparkplan-group-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto pid_file = folder / "pid";
  const auto script = "sleep 1000 & echo $! > '" + pid_file.string() + ".new'; mv '" + pid_file.string() + ".new' '" +
                      pid_file.string() + "'; wait";
  const auto began = Clock::now();
  const auto output = capture({"sh", "-c", script}, {milliseconds(1500)});
  CHECK(Clock::now() - began < std::chrono::seconds(60));
  REQUIRE_FALSE(output);
  CHECK(output.error().code == ErrorCode::kUnreachable);
  pid_t grandchild = 0;
  std::ifstream(pid_file) >> grandchild;
  std::filesystem::remove_all(folder);
  REQUIRE(grandchild > 1);
  CHECK(becomes_true([&] { return has_ended(grandchild); }));
}

TEST_CASE("a program that ends with us gets SIGTERM when the process that waits for it is killed") {
  const auto folder = std::filesystem::temp_directory_path() / ("sparkplan-orphan-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto pid_file = folder / "pid";
  const auto script = "echo $$ > '" + pid_file.string() + ".new'; mv '" + pid_file.string() + ".new' '" +
                      pid_file.string() + "'; exec sleep 60";
  const pid_t starter = ::fork();
  REQUIRE(starter >= 0);
  if (starter == 0) {
    CaptureLimits limits;
    limits.ends_with_us = true;
    (void)capture({"sh", "-c", script}, limits);
    ::_exit(EXIT_SUCCESS);
  }
  pid_t program = 0;
  const bool has_started = becomes_true([&] {
    std::ifstream(pid_file) >> program;
    return program > 1;
  });
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  std::filesystem::remove_all(folder);
  REQUIRE(has_started);
  CHECK(becomes_true([&] { return has_ended(program); }));
}

TEST_CASE("a child's three streams are separate pipes") {
  auto child = ChildProcess::start("/bin/sh", {"-c", "read line; echo \"got $line\"; echo problem >&2; exit 3"});
  REQUIRE(child);
  CHECK_FALSE(child->wait(milliseconds(0)));
  REQUIRE(::write(child->standard_input(), "hello\n", 6) == 6);
  CHECK(read_until(child->standard_output(), 10) == "got hello\n");
  CHECK(read_until(child->standard_error(), 8) == "problem\n");
  CHECK(child->wait(std::chrono::seconds(20)) == 3);
  CHECK(child->wait(milliseconds(0)) == 3);
  child->kill();
  CHECK(child->wait(milliseconds(0)) == 3);
}

TEST_CASE("closing a child's standard input ends its input") {
  auto child = ChildProcess::start("/bin/cat", {});
  REQUIRE(child);
  REQUIRE(::write(child->standard_input(), "abc", 3) == 3);
  child->close_standard_input();
  CHECK(child->standard_input() == -1);
  CHECK(child->wait(std::chrono::seconds(20)) == 0);
  CHECK(read_until(child->standard_output(), 3) == "abc");
}

TEST_CASE("a killed child is reaped, and its end is reported as SIGKILL") {
  auto child = ChildProcess::start("/bin/sleep", {"1000"});
  REQUIRE(child);
  CHECK_FALSE(child->wait(milliseconds(20)));
  child->kill();
  CHECK(child->wait(milliseconds(0)) == 128 + SIGKILL);
}

TEST_CASE("a child is killed when its object is destroyed or replaced") {
  pid_t first = 0;
  pid_t second = 0;
  const auto start = [](pid_t& pid) {
    auto child = ChildProcess::start("/bin/sh", {"-c", "echo $$; exec sleep 1000"});
    REQUIRE(child);
    pid = static_cast<pid_t>(std::stol(read_until(child->standard_output(), 2)));
    REQUIRE_FALSE(has_ended(pid));
    return std::move(*child);
  };
  {
    auto child = start(first);
    auto other = start(second);
    child = std::move(other);
    CHECK(has_ended(first));
    CHECK_FALSE(has_ended(second));
  }
  CHECK(has_ended(second));
}

TEST_CASE("a child leads its own process group") {
  auto child = ChildProcess::start("/bin/sh", {"-c", "echo $$; exec sleep 1000"});
  REQUIRE(child);
  const auto pid = static_cast<pid_t>(std::stol(read_until(child->standard_output(), 2)));
  CHECK(::getpgid(pid) == pid);
  CHECK(::getpgid(pid) != ::getpgrp());
}

TEST_CASE("a child inherits no descriptor except its three streams") {
  auto child = ChildProcess::start("/bin/sh", {"-c", "ls /proc/self/fd | wc -l"});
  auto other = ChildProcess::start("/bin/sh", {"-c", "ls /proc/self/fd | wc -l"});
  REQUIRE(child);
  REQUIRE(other);
  // The second child started while the parent had the first child's pipes open.
  const auto count = read_until(child->standard_output(), 2);
  CHECK(std::stoi(count) >= 4);  // 0, 1, 2 and the directory that ls has open.
  CHECK(read_until(other->standard_output(), 2) == count);
}

TEST_CASE("children started by parallel threads do not wait for each other's end") {
  constexpr int kThreads = 4;
  constexpr int kChildrenEach = 50;
  std::array<std::future<int>, kThreads> starters;
  for (auto& starter : starters) {
    starter = std::async(std::launch::async, [] {
      std::vector<ChildProcess> running;  // Each child lives until this thread has started all of them.
      for (int i = 0; i < kChildrenEach; ++i) {
        auto child = ChildProcess::start("/bin/cat", {});
        if (!child) return i;
        running.push_back(*std::move(child));
      }
      return kChildrenEach;
    });
  }
  for (auto& starter : starters) {
    // A hanging starter would also block at the end of its scope: only an abort ends the test.
    if (starter.wait_for(std::chrono::seconds(60)) != std::future_status::ready) std::abort();
    CHECK(starter.get() == kChildrenEach);
  }
}

TEST_CASE("a program that fails to start is an error") {
  CHECK(ChildProcess::start("/nonexistent/program", {}).error().code == ErrorCode::kNotFound);
  CHECK(ChildProcess::start("/", {}).error().code == ErrorCode::kPermissionDenied);
}

TEST_CASE("a program reads its input, however long, while it prints") {
  const std::string text(std::size_t{3} << 20, 'x');
  CaptureLimits limits;
  limits.standard_input = text;
  const auto output = capture({"cat"}, limits);
  REQUIRE(output);
  CHECK(output->exit_status == 0);
  CHECK(output->standard_output == text);
}

TEST_CASE("a program that ends before reading all input causes no error") {
  const std::string text(std::size_t{3} << 20, 'x');
  CaptureLimits limits;
  limits.standard_input = text;
  const auto output = capture({"sh", "-c", "exec <&-; exit 3"}, limits);
  REQUIRE(output);
  CHECK(output->exit_status == 3);
}

TEST_CASE("a program that neither reads nor ends is killed at its deadline") {
  const std::string text(std::size_t{3} << 20, 'x');
  CaptureLimits limits{milliseconds(300)};
  limits.standard_input = text;
  const auto output = capture({"sleep", "60"}, limits);
  REQUIRE_FALSE(output);
  CHECK(output.error().code == ErrorCode::kUnreachable);
}

}  // namespace sparkplan
