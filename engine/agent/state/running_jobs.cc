#include "engine/agent/state/running_jobs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/node/separate_access.h"
#include "engine/agent/node/utc_time.h"
#include "engine/agent/state/node_lock.h"
#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// The kernel appends it to the path of a file that was removed or replaced.
constexpr std::string_view kDeleted = " (deleted)";

/// For the reading of the command lines of one owner's processes, and of all owners'.
constexpr std::chrono::seconds kTimeOfOwner{1};
constexpr std::chrono::seconds kTimeOfAll{8};
/// Of one owner. Each job has two.
constexpr std::size_t kMostProcesses = 1024;
/// In place of the command of a job whose process starter does not show it.
constexpr const char* kNotShown = "(unknown: the memory of this process cannot be read)";

/// As the kernel knows it. No server is asked: in another mount namespace, the file may be on any file system.
std::optional<struct statx> status_of(const std::string& path) {
  struct statx status {};
  const int result = ::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_INO | STATX_NLINK | STATX_UID, &status);
  return result == 0 ? std::optional(status) : std::nullopt;
}

bool is_on_same_device(const struct statx& one, const struct statx& other) {
  return one.stx_dev_major == other.stx_dev_major && one.stx_dev_minor == other.stx_dev_minor;
}

/// The path without links, as the kernel shows it.
std::string real_path(const std::string& path) {
  std::error_code error;
  auto real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

/// Recognises the processes of one program by the file that they execute. A path alone proves nothing: in a container
/// the same path is another file.
class Executable {
 public:
  explicit Executable(const std::string& path) : path_(real_path(path)), installed_(status_of(path_)) {}

  /// `link` is /proc/PID/exe. A status of another program's file could wait for ever: it may be on a mount whose server
  /// is gone. The kernel shows the path without asking the file system.
  bool is_run_by(const std::string& link) const {
    std::error_code gone;
    const auto shown = std::filesystem::read_symlink(link, gone).string();
    if (gone || (shown != path_ && shown != path_ + std::string(kDeleted))) return false;
    const auto running = status_of(link);
    if (!running) return false;
    if (installed_ && is_on_same_device(*running, *installed_) && running->stx_ino == installed_->stx_ino) return true;
    return shown != path_ && is_earlier_build(*running);
  }

 private:
  /// A new build has replaced the file while the job ran.
  bool is_earlier_build(const struct statx& running) const {
    if (running.stx_nlink != 0 || running.stx_uid != (installed_ ? installed_->stx_uid : ::geteuid())) return false;
    return !installed_ || is_on_same_device(running, *installed_);
  }

  std::string path_;
  std::optional<struct statx> installed_;
};

/// The processes with that executable, by number.
std::vector<std::int64_t> processes_of(const std::string& program) {
  std::vector<std::int64_t> found;
  const Executable executable(program);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return found;
  while (const dirent* one = ::readdir(folder.get())) {
    const std::string_view name = one->d_name;
    if (!std::all_of(name.begin(), name.end(), is_digit)) continue;
    if (!executable.is_run_by("/proc/" + std::string(name) + "/exe")) continue;
    std::int64_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid > 0) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Enough for a record. A user may give a process a command line of megabytes.
std::string beginning_of(const std::string& path) {
  std::string text(2 * kJobRecordRoom, '\0');
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto size = file.get() < 0 ? -1 : ::read(file.get(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

/// The beginnings of their command lines, in their order. Nothing if they cannot be read in time. The kernel reads them
/// from the memory of the process, and a user can have it wait without end for a program that serves this memory. So
/// another process reads them.
std::optional<std::vector<std::string>> command_lines_of(const std::vector<std::int64_t>& processes,
                                                         std::chrono::milliseconds deadline) {
  using Size = std::uint32_t;
  const auto read = [&]() -> Result<HomeAnswer> {
    HomeAnswer all;
    for (const std::int64_t process : processes) {
      const std::string text = beginning_of("/proc/" + std::to_string(process) + "/cmdline");
      const auto size = static_cast<Size>(text.size());
      all.bytes.append(reinterpret_cast<const char*>(&size), sizeof size);  // NOLINT: both processes are one program.
      all.bytes += text;
    }
    return all;
  };
  const auto answer = in_separate_process(read, kNoDescriptor, deadline);
  if (!answer) return std::nullopt;
  std::vector<std::string> lines;
  std::string_view rest = answer->bytes;
  while (rest.size() >= sizeof(Size)) {
    Size size = 0;
    std::memcpy(&size, rest.data(), sizeof size);
    lines.emplace_back(rest.substr(sizeof size, size));
    rest.remove_prefix(std::min(rest.size(), sizeof size + size));
  }
  return lines.size() == processes.size() ? std::optional(std::move(lines)) : std::nullopt;
}

/// "Uid:	1000	1000	1000	1000": the real one.
std::string uid_of(const std::string& process) {
  const std::string status = kernel_file(process + "/status");
  for (const auto line : split_lines(status)) {
    if (!line.starts_with("Uid:")) continue;
    const auto words = words_of(line);
    if (words.size() > 1) return std::string(words[1]);
  }
  return "";
}

/// Seconds since 1970 at which the machine was started. Source: proc_stat(5).
std::int64_t boot_time() {
  const std::string text = kernel_file("/proc/stat");
  constexpr std::string_view kName = "btime ";
  for (const auto line : split_lines(text)) {
    if (!line.starts_with(kName)) continue;
    std::int64_t seconds = 0;
    std::from_chars(line.data() + kName.size(), line.data() + line.size(), seconds);
    return seconds;
  }
  return 0;
}

std::string start_time_of(std::int64_t pid) {
  const auto ticks = static_cast<std::int64_t>(start_of_process(pid));
  const std::int64_t per_second = std::max(1L, ::sysconf(_SC_CLK_TCK));
  return utc_time(boot_time() + ticks / per_second);
}

/// A process starter with a record.
struct Starter {
  std::int64_t pid = 0;
  std::string uid;
  JobRecord record;
};

/// The number of the user who has made the user namespace of a process, or the outermost one around it. Nothing for a
/// process in our own namespace. Source: ioctl_ns(2), user_namespaces(7).
std::optional<uid_t> maker_of_namespace(const std::string& process) {
  std::optional<uid_t> maker;
  struct stat ours {};
  const bool known = ::stat("/proc/self/ns/user", &ours) == 0;
  FileDescriptor space(::open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  while (known && space.get() >= 0) {
    struct stat status {};
    if (::fstat(space.get(), &status) != 0) return maker;
    if (status.st_ino == ours.st_ino && status.st_dev == ours.st_dev) return maker;
    uid_t user = 0;
    if (::ioctl(space.get(), NS_GET_OWNER_UID, &user) != 0) return maker;
    maker = user;
    space.replace(::ioctl(space.get(), NS_GET_PARENT));
  }
  return maker;
}

}  // namespace

std::string owner_of_job(std::int64_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const auto maker = maker_of_namespace(process);
  return maker ? "namespace of " + std::to_string(*maker) : uid_of(process);
}

std::string user_named(std::string_view passwd, std::string_view uid) {
  for (const auto line : split_lines(passwd)) {
    const auto fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == uid && !fields[0].empty()) return std::string(fields[0]);
  }
  return "uid " + std::string(uid);
}

std::vector<std::size_t> fair_share(const std::vector<std::string>& owners, std::size_t most) {
  std::map<std::string_view, std::size_t> seen;
  std::vector<std::pair<std::size_t, std::size_t>> by_turn;
  for (std::size_t place = 0; place < owners.size(); ++place) by_turn.emplace_back(seen[owners[place]]++, place);
  std::sort(by_turn.begin(), by_turn.end());
  by_turn.resize(std::min(by_turn.size(), most));
  std::vector<std::size_t> places;
  for (const auto& [turn, place] : by_turn) places.push_back(place);
  std::sort(places.begin(), places.end());
  return places;
}

namespace {

/// One owner's process starters with a record. Without an answer, one process stands for all of them.
std::vector<Starter> starters_of(const std::vector<std::int64_t>& processes, std::chrono::milliseconds deadline) {
  std::vector<Starter> starters;
  const auto lines = deadline.count() > 0 ? command_lines_of(processes, deadline) : std::nullopt;
  for (std::size_t i = 0; i < processes.size() && starters.size() < kMostRunningJobs; ++i) {
    // The guardian has the same executable and no record.
    auto record = lines ? job_record_in(lines->at(i)) : std::optional(JobRecord{kNoJobId, "", kNotShown});
    if (!record) continue;
    // A process that has ended meanwhile has no status any more.
    std::string uid = uid_of("/proc/" + std::to_string(processes[i]));
    if (uid.empty()) continue;
    starters.push_back({processes[i], std::move(uid), *std::move(record)});
    if (!lines) break;
  }
  return starters;
}

}  // namespace

std::vector<RunningJob> running_jobs(const std::string& starter) {
  using std::chrono::milliseconds;
  std::map<std::string, std::vector<std::int64_t>> processes;
  for (const std::int64_t pid : processes_of(starter)) {
    std::vector<std::int64_t>& of_owner = processes[owner_of_job(pid)];
    if (of_owner.size() < kMostProcesses) of_owner.push_back(pid);
  }
  const auto end = std::chrono::steady_clock::now() + kTimeOfAll;
  std::vector<std::pair<Starter, std::string>> found;
  for (const auto& [owner, pids] : processes) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
    for (Starter& one : starters_of(pids, std::min<milliseconds>(kTimeOfOwner, left))) {
      found.emplace_back(std::move(one), owner);
    }
  }
  std::ranges::sort(found, {}, [](const auto& one) { return one.first.pid; });
  std::vector<std::string> owners;
  for (auto& [one, owner] : found) owners.push_back(std::move(owner));
  std::vector<RunningJob> jobs;
  for (const std::size_t place : fair_share(owners, kMostRunningJobs)) {
    Starter& one = found[place].first;
    jobs.push_back({std::move(one.record.id), user_named(kernel_file("/etc/passwd"), one.uid), one.pid,
                    start_time_of(one.pid), std::move(one.record.who), std::move(one.record.command)});
  }
  return jobs;
}

}  // namespace sparkplan
