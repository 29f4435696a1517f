#include "engine/job/containers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "engine/core/ascii.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/job/shown_record.h"
#include "engine/model/container_image.h"

namespace sparkplan::job {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostOutput = std::size_t{64} << 10;
constexpr std::size_t kMostContainers = 256;
/// Between two looks that have to find nothing: docker's daemon may still work on a request of a client that was
/// killed.
constexpr milliseconds kSecondLook{300};
constexpr milliseconds kOneCommand{4000};
constexpr milliseconds kTimeToDie{500};

[[noreturn]] void become(const std::vector<std::string>& argv, int output) {
  ::setsid();
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(nothing, STDERR_FILENO) < 0) {
    ::_exit(127);
  }
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

milliseconds left_until(Clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end - Clock::now()));
}

/// True at the end of the output, false at the deadline.
bool read_all(int stream, std::string& text, Clock::time_point end) {
  std::array<char, 4096> buffer{};
  while (true) {
    pollfd waiting{stream, POLLIN, 0};
    const auto left = left_until(end);
    if (left.count() == 0) return false;
    if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
    const auto count = ::read(stream, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (text.size() < kMostOutput) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// The exit status, or nothing at the deadline. waitpid() takes no deadline.
std::optional<int> wait_for(pid_t child, Clock::time_point end) {
  constexpr int kPauseMs = 5;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (left_until(end).count() == 0) return std::nullopt;
    ::poll(nullptr, 0, kPauseMs);
  }
  return status;
}

/// The ids of the job's containers. Nothing: the engine did not answer.
std::optional<std::vector<std::string>> containers_of(const std::string& engine, const std::string& id,
                                                      milliseconds patience) {
  const auto text = output_of(
      {engine, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label=" + std::string(kContainerLabel) + "=" + id},
      patience);
  if (!text) return std::nullopt;
  std::vector<std::string> ids;
  for (const auto line : split_lines(*text)) {
    const bool is_id = !line.empty() && std::all_of(line.begin(), line.end(), is_alphanumeric);
    if (is_id && ids.size() < kMostContainers) ids.emplace_back(line);
  }
  return ids;
}

/// docker sends SIGKILL at once. podman waits for the time of `--stop-timeout` first, which is 0 for our containers.
void kill_and_remove(const std::string& engine, const std::vector<std::string>& ids, milliseconds patience) {
  std::vector<std::string> argv{engine, "rm", "--force"};
  argv.insert(argv.end(), ids.begin(), ids.end());
  (void)output_of(argv, std::min(kOneCommand, patience));
}

bool is_engine(const std::string& engine) { return engine == "docker" || engine == "podman"; }

/// "RANK PID" of each container, one a line.
std::string listed_processes(const std::string& engine, const std::string& id, milliseconds patience) {
  if (!is_engine(engine) || id.empty()) return "";
  const auto end = Clock::now() + patience;
  const auto ids = containers_of(engine, id, patience);
  if (!ids || ids->empty()) return "";
  std::vector<std::string> argv{
      engine,      "inspect",  "--type",
      "container", "--format", "{{index .Config.Labels \"" + std::string(kRankLabel) + "\"}} {{.State.Pid}}"};
  argv.insert(argv.end(), ids->begin(), ids->end());
  return output_of(argv, left_until(end)).value_or("");
}

}  // namespace

std::optional<std::string> output_of(const std::vector<std::string>& argv, milliseconds patience) {
  const auto end = Clock::now() + patience;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) become(argv, ends[1]);
  ::close(ends[1]);
  std::string text;
  const bool complete = child > 0 && read_all(ends[0], text, end);
  ::close(ends[0]);
  if (child < 0) return std::nullopt;
  const auto status = complete ? wait_for(child, end) : std::nullopt;
  if (!status) {
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);
    // Where the kernel keeps it longer, it is reaped with the others.
    (void)wait_for(child, Clock::now() + kTimeToDie);
    return std::nullopt;
  }
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return std::nullopt;
  return text;
}

int ask_for_processes(const std::string& engine, const std::string& id, milliseconds patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    // The parent's signal handlers would write to its pipe. Its streams and the ranks' inputs must not stay open here.
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    if (::dup2(ends[1], STDOUT_FILENO) < 0) ::_exit(EXIT_FAILURE);
    hide_record();
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::_exit(write_fully(STDOUT_FILENO, listed_processes(engine, id, patience)) ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  if (child > 0) return ends[0];
  ::close(ends[0]);
  return -1;
}

std::map<int, pid_t> processes_in(std::string_view answer) {
  std::map<int, pid_t> processes;
  // A number that is cut would be another one.
  for (const auto line : split_lines(answer.substr(0, answer.rfind('\n') + 1))) {
    const auto words = words_of(line);
    if (words.size() != 2) continue;
    const auto rank = parse_number<int>(words[0]);
    const auto pid = parse_number<pid_t>(words[1]);
    // A container that has ended, or that is not started yet, has pid 0.
    if (rank && pid && *rank >= 0 && *pid > 1) processes[*rank] = *pid;
  }
  return processes;
}

void remove_found_containers(const std::string& engine, const std::string& id, milliseconds patience) {
  if (!is_engine(engine) || id.empty()) return;
  const auto end = Clock::now() + patience;
  const auto found = containers_of(engine, id, std::min(kOneCommand, left_until(end)));
  if (found && !found->empty()) kill_and_remove(engine, *found, left_until(end));
}

std::vector<std::string> remove_containers(const std::string& engine, const std::string& id, milliseconds patience) {
  if (!is_engine(engine) || id.empty()) return {};
  const auto end = Clock::now() + patience;
  // podman has no daemon that could still make one.
  const bool once = engine == "podman";
  bool none_before = false;
  std::vector<std::string> left{engine + " does not answer"};
  while (left_until(end).count() > 0) {
    const auto found = containers_of(engine, id, std::min(kOneCommand, left_until(end)));
    if (found) left = *found;
    if (found && found->empty() && (once || none_before)) return {};
    none_before = found && found->empty();
    if (found && !found->empty()) kill_and_remove(engine, *found, left_until(end));
    ::poll(nullptr, 0, static_cast<int>(std::min(kSecondLook, left_until(end)).count()));
  }
  return left;
}

}  // namespace sparkplan::job
