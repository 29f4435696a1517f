#include "engine/agent/state/running_jobs.h"

#include <dirent.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/node/utc_time.h"
#include "engine/agent/state/node_lock.h"
#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// The kernel appends it to the path of a file that was removed or replaced.
constexpr std::string_view kDeleted = " (deleted)";

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
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
    if (installed_ && running->st_dev == installed_->st_dev && running->st_ino == installed_->st_ino) return true;
    return shown != path_ && is_earlier_build(*running);
  }

 private:
  /// A new build has replaced the file while the job ran.
  bool is_earlier_build(const struct stat& running) const {
    if (running.st_nlink != 0 || running.st_uid != (installed_ ? installed_->st_uid : ::geteuid())) return false;
    return !installed_ || running.st_dev == installed_->st_dev;
  }

  std::string path_;
  std::optional<struct stat> installed_;
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
  const auto ours = status_of("/proc/self/ns/user");
  FileDescriptor space(::open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  while (ours && space.get() >= 0) {
    struct stat status {};
    if (::fstat(space.get(), &status) != 0) return maker;
    if (status.st_ino == ours->st_ino && status.st_dev == ours->st_dev) return maker;
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

std::vector<RunningJob> running_jobs(const std::string& starter) {
  std::vector<Starter> starters;
  std::vector<std::string> owners;
  std::map<std::string, std::size_t> jobs_of;
  for (const auto pid : processes_of(starter)) {
    const std::string process = "/proc/" + std::to_string(pid);
    // The guardian has the same executable and no record.
    const std::string command_line = beginning_of(process + "/cmdline");
    auto record = job_record_in(command_line);
    if (!record) continue;
    // A process that has ended meanwhile has no status any more.
    std::string uid = uid_of(process);
    if (uid.empty()) continue;
    std::string owner = owner_of_job(pid);
    if (++jobs_of[owner] > kMostRunningJobs) continue;
    owners.push_back(std::move(owner));
    starters.push_back({pid, std::move(uid), *std::move(record)});
  }
  std::vector<RunningJob> jobs;
  for (const std::size_t place : fair_share(owners, kMostRunningJobs)) {
    Starter& one = starters[place];
    jobs.push_back({std::move(one.record.id), user_named(kernel_file("/etc/passwd"), one.uid), one.pid,
                    start_time_of(one.pid), std::move(one.record.who), std::move(one.record.command)});
  }
  return jobs;
}

}  // namespace sparkplan
