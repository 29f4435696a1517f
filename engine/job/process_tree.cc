#include "engine/job/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

#include "engine/core/ascii.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
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

/// Fills `entry` from "42 (any text) S 1 ...", where S is the third field. False: the process is gone.
bool read_entry(ProcessEntry& entry) {
  const auto text = beginning_of(path_of(entry.pid, "stat"), kStatBytes);
  // The name in parentheses may itself contain parentheses and blanks.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || text.size() < name_end + 5) return false;
  constexpr std::size_t kParent = 1;
  constexpr std::size_t kStarted = 19;
  const auto fields = split(std::string_view(text).substr(name_end + 2), ' ');
  if (fields.size() <= kStarted || fields[0].empty()) return false;
  const auto parent = parse_number<pid_t>(fields[kParent]);
  const auto started = parse_number<std::uint64_t>(fields[kStarted]);
  if (!parent || !started) return false;
  entry.state = fields[0].front();
  entry.parent = *parent;
  entry.started = *started;
  return true;
}

bool has_ended(const ProcessEntry& entry) { return entry.state == 'Z' || entry.state == 'X'; }

/// True if its effective user is the one of this process. The owner of the directory is that user in any case; the
/// files in it belong to root if the process wants it so.
bool runs_as_we_do(pid_t pid) {
  struct stat status {};
  return ::stat(path_of(pid, "").c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

/// True if our user has started it. Another user's setuid program has the environment that this user gave it, of any
/// size.
bool was_started_by_us(pid_t pid) {
  constexpr std::string_view kLine = "\nUid:\t";
  const auto text = beginning_of(path_of(pid, "status"), kStatBytes);
  const auto at = text.find(kLine);
  if (at == std::string::npos) return false;
  const auto rest = std::string_view(text).substr(at + kLine.size());
  return parse_number<uid_t>(rest.substr(0, rest.find('\t'))) == ::geteuid();
}

/// The user of the login that a process comes from; empty where the kernel keeps none. Source: proc_pid_loginuid(5).
std::string login_of(const std::string& process) {
  return std::string(trim(beginning_of("/proc/" + process + "/loginuid", kStatBytes)));
}

/// True unless it comes from another user's login. A setuid program such as sudo makes root its real user too, and
/// still has the environment of the user who started it; that login stays, and no user can change it. A daemon has
/// none.
bool is_of_our_login(pid_t pid, const std::string& own) {
  constexpr std::string_view kNoLogin = "4294967295";
  const std::string login = login_of(std::to_string(pid));
  return login.empty() || login == own || login == kNoLogin || login == "0";
}

bool has_mark(std::string_view rest, const std::string& mark) {
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

std::vector<pid_t> marked_with(const std::string& id, const std::vector<ProcessEntry>& all, std::size_t most) {
  const std::string mark = std::string(kJobVariable) + "=" + id;
  // A user's own processes can have other numbers in a container. The kernel shows that user no others.
  const bool sees_all_users = ::geteuid() == 0;
  const std::string own_login = login_of("self");
  const auto is_ours = [&](pid_t pid) {
    return runs_as_we_do(pid) && was_started_by_us(pid) && is_of_our_login(pid, own_login);
  };
  std::vector<pid_t> found;
  for (const auto& entry : all) {
    if (has_ended(entry)) continue;
    // Before the environment is read: those of other users' programs would use up the bytes.
    if (sees_all_users && !is_ours(entry.pid)) continue;
    const auto environment = beginning_of(path_of(entry.pid, "environ"), std::min(most, kMostEnvironment));
    most -= std::min(most, environment.size());
    if (!has_mark(environment, mark)) continue;
    // Meanwhile another process may have got the number.
    if (!sees_all_users || is_ours(entry.pid)) found.push_back(entry.pid);
  }
  return found;
}

void signal_process(const ProcessEntry& entry, int signal) {
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, entry.pid, 0)));
  // An older kernel, or no descriptor left. Else the process is gone.
  const bool has_number_alone = !process.valid() && (errno == ENOSYS || errno == EMFILE || errno == ENFILE);
  // From here on, another process cannot take the number unnoticed.
  ProcessEntry now{entry.pid};
  if (!read_entry(now) || now.started != entry.started) return;
  if (process.valid()) {
    (void)::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
  } else if (has_number_alone) {
    ::kill(entry.pid, signal);
  }
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
  for (const auto& entry : all) {
    if (std::find(found.begin(), found.end(), entry.pid) != found.end()) signal_process(entry, signal);
  }
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
