#include "engine/job/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include "engine/core/ascii.h"
#include "engine/wire/job_messages.h"

namespace sparkplan::job {
namespace {

using Clock = std::chrono::steady_clock;

/// More than any environment that our StartJob can have made.
constexpr std::size_t kMostEnvironment = std::size_t{4} << 20;
constexpr std::size_t kStatBytes = 1024;
constexpr int kPauseMs = 10;

/// The first `most` bytes of a file; empty if it cannot be read.
std::string beginning_of(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < most) {
    const auto count = ::read(file, buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

std::string path_of(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

/// Fills `entry` from "42 (any text) S 1 ...". False: the process is gone.
bool read_entry(ProcessEntry& entry) {
  const auto text = beginning_of(path_of(entry.pid, "stat"), kStatBytes);
  // The name in parentheses may itself contain parentheses and blanks.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || text.size() < name_end + 5) return false;
  entry.state = text[name_end + 2];
  const char* number = text.data() + name_end + 4;
  return std::from_chars(number, text.data() + text.size(), entry.parent).ec == std::errc();
}

bool has_ended(const ProcessEntry& entry) { return entry.state == 'Z' || entry.state == 'X'; }

bool has_mark(pid_t pid, const std::string& mark) {
  const auto environment = beginning_of(path_of(pid, "environ"), kMostEnvironment);
  std::string_view rest = environment;
  while (!rest.empty()) {
    const auto end = rest.find('\0');
    if (rest.substr(0, end) == mark) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
  return false;
}

/// Reaps children that have ended, without waiting.
void reap() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return found;
  while (const dirent* one = ::readdir(folder.get())) {
    const std::string_view name = one->d_name;
    if (!std::all_of(name.begin(), name.end(), is_digit)) continue;
    ProcessEntry entry;
    std::from_chars(name.data(), name.data() + name.size(), entry.pid);
    if (entry.pid > 0 && read_entry(entry)) found.push_back(entry);
  }
  return found;
}

std::vector<pid_t> descendants_of(pid_t root, const std::vector<ProcessEntry>& all) {
  std::vector<pid_t> family{root};
  for (std::size_t at = 0; at < family.size(); ++at) {
    for (const auto& entry : all) {
      // The second condition ends the loop even if /proc, read in pieces, shows a circle.
      if (entry.parent == family[at] && std::find(family.begin(), family.end(), entry.pid) == family.end()) {
        family.push_back(entry.pid);
      }
    }
  }
  std::vector<pid_t> alive;
  for (const auto& entry : all) {
    const bool ours = std::find(family.begin() + 1, family.end(), entry.pid) != family.end();
    if (ours && !has_ended(entry)) alive.push_back(entry.pid);
  }
  return alive;
}

std::vector<pid_t> marked_with(const std::string& id, const std::vector<ProcessEntry>& all) {
  const std::string mark = std::string(kJobVariable) + "=" + id;
  std::vector<pid_t> found;
  for (const auto& entry : all) {
    if (!has_ended(entry) && has_mark(entry.pid, mark)) found.push_back(entry.pid);
  }
  return found;
}

std::vector<pid_t> signal_job(const std::string& id, int signal, pid_t spared) {
  const auto all = all_processes();
  auto found = descendants_of(::getpid(), all);
  if (!id.empty()) {
    for (const pid_t pid : marked_with(id, all)) {
      if (std::find(found.begin(), found.end(), pid) == found.end()) found.push_back(pid);
    }
  }
  const auto keep = [&](pid_t pid) { return pid == spared || pid == ::getpid() || pid == ::getppid(); };
  found.erase(std::remove_if(found.begin(), found.end(), keep), found.end());
  for (const pid_t pid : found) ::kill(pid, signal);
  return found;
}

std::vector<pid_t> end_job(const std::string& id, pid_t spared, std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (true) {
    auto left = signal_job(id, SIGKILL, spared);
    reap();
    if (left.empty() || Clock::now() >= end) return left;
    ::poll(nullptr, 0, kPauseMs);
  }
}

}  // namespace sparkplan::job
