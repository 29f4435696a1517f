// Which jobs the agent finds, with the shipped process starter.
#include "engine/agent/state/running_jobs.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "engine/agent/node/utc_time.h"
#include "engine/process/child_process.h"
#include "engine/wire/frame.h"
#include "engine/wire/job_messages.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/own_mounts.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

const std::string kStarter = SPARKPLAN_JOB_PROGRAM;

/// A process starter that holds a job without ranks.
class Starter {
 public:
  explicit Starter(const std::string& command, const std::string& program = kStarter)
      : Starter(command, program, {"--stdio"}) {}
  /// `program` starts the process starter with these arguments.
  Starter(const std::string& command, const std::string& program, const std::vector<std::string>& arguments)
      : child_(*ChildProcess::start(program, arguments)) {
    StartJob start;
    start.id = "test-" + std::to_string(::getpid());
    start.hold = true;
    start.who = "anna@laptop";
    start.command = command;
    const std::string bytes = std::string(kPreamble) + *encode_frame(encode(JobCommand(start)));
    REQUIRE(::write(child_.standard_input(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }

  /// The jobs of this test's process, once there is one or none, as wanted.
  static std::vector<RunningJob> jobs_when(bool any, const std::string& program = kStarter) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto jobs = own_jobs(program);
    while (jobs.empty() == any && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
      jobs = own_jobs(program);
    }
    return jobs;
  }
  void end() { child_.close_standard_input(); }

 private:
  /// Other tests run at the same time.
  static std::vector<RunningJob> own_jobs(const std::string& program) {
    auto jobs = running_jobs(program);
    std::erase_if(jobs, [](const RunningJob& job) { return job.id != "test-" + std::to_string(::getpid()); });
    return jobs;
  }

  ChildProcess child_;
};

/// A process that waits until its object ends, after it has made something of itself. Not `ready` where the system does
/// not permit that.
class WaitingProcess {
 public:
  explicit WaitingProcess(const std::function<bool()>& make) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char made = make() ? 'y' : 'n';
      if (::write(ends[1], &made, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(ends[1]);
    char made = 'n';
    ready = ::read(ends[0], &made, 1) == 1 && made == 'y';
    ::close(ends[0]);
  }
  WaitingProcess(const WaitingProcess&) = delete;
  WaitingProcess& operator=(const WaitingProcess&) = delete;
  ~WaitingProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string owner() const { return owner_of_job(pid_); }

  bool ready = false;

 private:
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("a job is found by its process starter, until it ends") {
  constexpr std::int64_t kTolerance = 60;
  const std::int64_t now = std::time(nullptr);
  Starter starter("python3 train.py");
  const auto jobs = Starter::jobs_when(true);
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].id == "test-" + std::to_string(::getpid()));
  CHECK(jobs[0].who == "anna@laptop");
  CHECK(jobs[0].command == "python3 train.py");
  CHECK(jobs[0].pid > 1);
  CHECK_FALSE(jobs[0].user.empty());
  // The kernel counts from the boot, whose time moves when the clock is set.
  CHECK(jobs[0].since > utc_time(now - kTolerance));
  CHECK(jobs[0].since < utc_time(now + kTolerance));
  starter.end();
  CHECK(Starter::jobs_when(false).empty());
}

TEST_CASE("a job without a command, such as a preflight, is not shown, and neither are other programs") {
  Starter silent("");
  Starter shown("train");
  const auto jobs = Starter::jobs_when(true);
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].command == "train");
  CHECK(running_jobs("/bin/no-such-program").empty());
}

TEST_CASE("a job is found by its starter's path, and no other program's file is touched") {
  const test::ScratchDirectory scratch;
  const auto installed = (scratch.path() / "sparkplan-job").string();
  const auto directory = (scratch.path() / "linked").string();
  const auto other_name = (scratch.path() / "other-name").string();
  std::filesystem::copy_file(kStarter, installed);
  std::filesystem::create_hard_link(installed, other_name);
  std::filesystem::create_directory_symlink(scratch.path(), directory);
  Starter other("other", other_name);
  REQUIRE(Starter::jobs_when(true, other_name).size() == 1);
  Starter starter("train", installed);
  const auto jobs = Starter::jobs_when(true, installed);
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].command == "train");
  CHECK(Starter::jobs_when(true, directory + "/sparkplan-job").size() == 1);
}

TEST_CASE("a job goes on under its earlier build when a new build replaces the starter") {
  const test::ScratchDirectory scratch;
  const auto installed = (scratch.path() / "sparkplan-job").string();
  const auto temporary = (scratch.path() / ".new").string();
  std::filesystem::copy_file(kStarter, installed);
  Starter starter("train", installed);
  REQUIRE(Starter::jobs_when(true, installed).size() == 1);
  std::filesystem::copy_file(kStarter, temporary);
  std::filesystem::rename(temporary, installed);
  CHECK(Starter::jobs_when(true, installed).size() == 1);
  std::filesystem::remove(installed);
  CHECK(Starter::jobs_when(true, installed).size() == 1);
  starter.end();
  CHECK(Starter::jobs_when(false, installed).empty());
}

TEST_CASE("the jobs of one user, however many, do not hide those of another one") {
  std::vector<std::string> owners(kMostRunningJobs, "1001");
  owners.insert(owners.end(), {"1002", "1003", "1002"});
  const auto shown = fair_share(owners, kMostRunningJobs);
  REQUIRE(shown.size() == kMostRunningJobs);
  CHECK(std::is_sorted(shown.begin(), shown.end()));
  for (const std::size_t place : {kMostRunningJobs, kMostRunningJobs + 1, kMostRunningJobs + 2})
    CHECK(std::binary_search(shown.begin(), shown.end(), place));
  CHECK(shown.front() == 0);
  CHECK(fair_share({"a", "a", "b"}, 2) == std::vector<std::size_t>{0, 2});
  CHECK(fair_share({"a", "a", "b"}, 9) == std::vector<std::size_t>{0, 1, 2});
  CHECK(fair_share({}, 9).empty());
}

TEST_CASE("a process starter whose memory cannot be read is a job of its user, and the jobs of others are found") {
  const test::ScratchDirectory scratch;
  const std::string installed = (scratch / "/sparkplan-job").string();
  const std::string silent = (scratch / "/silent").string();
  std::filesystem::copy_file(kStarter, installed);
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0755));
  REQUIRE(::mkfifo(silent.c_str(), 0600) == 0);
  const auto look = [&](LocalNode& /*of_scratch*/) -> std::string {
    Starter ours("ours", installed);
    const auto first = Starter::jobs_when(true, installed);
    if (first.size() != 1) return "no job";
    Starter of_other("theirs", "/usr/bin/setpriv", {"--reuid=4711", "--clear-groups", installed, "--stdio"});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (Starter::jobs_when(true, installed).size() < 2) {
      if (std::chrono::steady_clock::now() > end) return "no second job";
      std::this_thread::yield();
    }
    // To open it takes without end, as long as no process writes to it.
    const std::string command_line = "/proc/" + std::to_string(first[0].pid) + "/cmdline";
    if (::mount(silent.c_str(), command_line.c_str(), nullptr, MS_BIND, nullptr) != 0) return "no mount";
    std::string all;
    for (const RunningJob& job : running_jobs(installed)) all += job.id.substr(0, 4) + " " + job.command + "\n";
    return all;
  };
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can start a job of another user");
    return;
  }
  const auto seen = test::with_own_mounts(
      scratch, [] { return true; }, look);
  if (seen) CHECK(*seen == "? (unknown: the memory of this process cannot be read)\ntest theirs\n");
}

TEST_CASE("a job counts for its user, whatever login or namespace the user has chosen for it") {
  const uid_t user = ::geteuid() == 0 ? 4711 : ::geteuid();
  const auto become = [&] { return ::setresuid(user, user, user) == 0; };
  const auto choose_login = [&] {
    std::ofstream login("/proc/self/loginuid");
    return static_cast<bool>(login << 1001 << std::flush) && become();
  };
  const WaitingProcess plain(become);
  REQUIRE(plain.ready);
  CHECK(plain.owner() == std::to_string(user));
  if (const WaitingProcess of_login(choose_login); of_login.ready) {
    CHECK(of_login.owner() == std::to_string(user));
  } else {
    WARN("SKIPPED: this process may not choose a login");
  }
  // A namespace in which the user has numbers can have another one in it.
  const auto enter_namespaces = [&] {
    const std::string group = std::to_string(::getegid());
    if (!become() || ::prctl(PR_SET_DUMPABLE, 1) != 0 || ::unshare(CLONE_NEWUSER) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
    std::ofstream("/proc/self/uid_map") << "0 " + std::to_string(user) + " 1";
    return ::unshare(CLONE_NEWUSER) == 0;
  };
  if (const WaitingProcess in_namespace(enter_namespaces); in_namespace.ready) {
    CHECK(in_namespace.owner() == "namespace of " + std::to_string(user));
  } else {
    WARN("SKIPPED: this process may not make a user namespace");
  }
}

TEST_CASE("a user is named from the text of /etc/passwd") {
  constexpr const char* kText =
      "root:x:0:0:root:/root:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/bash\nbroken\n::1\n";
  CHECK(user_named(kText, "1000") == "nvidia");
  CHECK(user_named(kText, "0") == "root");
  CHECK(user_named(kText, "77") == "uid 77");
  CHECK(user_named("", "0") == "uid 0");
}

}  // namespace sparkplan
