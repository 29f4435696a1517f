// Secrets on the controller: a canary is searched for in its processes, files and outputs.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

// No other case uses it: they may run at the same time. A run that was killed may have left the file of its own one.
const std::string kControllerCanary = "controller-7f3a9c51e2-" + std::to_string(::getpid());
const std::string kTokenFile = "/etc/app.token";
// A command and a file as sources. While the unit starts, the case looks at the running program.
const std::string kSecretSections =
    "profile_env:\n  HF_TOKEN: {secret: {command: [cat, hf.token]}, users: [operator]}\n"
    "files:\n  - {path: /etc/app.token, content: {secret: {file: hf.token}}, owner: operator}\n"
    "units:\n  - {name: lab-slow.service, state: started, content: \"[Service]\\nType=oneshot\\n"
    "RemainAfterExit=yes\\nExecStart=/bin/sleep 3\\n\"}\n";
constexpr const char* kUnprivileged = "65534";
constexpr uid_t kUnprivilegedUser = 65534;

std::string content_of_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();  // Of a process that ends meanwhile, it takes what is there. An iterator would throw.
  return content.str();
}

/// The directories of all processes of this machine: /proc/1, /proc/2 ...
std::vector<fs::path> processes() {
  std::vector<fs::path> found;
  std::error_code ended;
  for (const auto& entry : fs::directory_iterator("/proc", ended)) {
    const auto name = entry.path().filename().string();
    int number = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (status == std::errc{} && end == name.data() + name.size()) found.push_back(entry.path());
  }
  return found;
}

/// Searches the command lines and environments of all processes of this machine while it exists. Those of the hosts are
/// among them.
class MachineWatch {
 public:
  explicit MachineWatch(std::string value)
      : value_(std::move(value)), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

  /// Ends the watch. The command lines of the processes that had the value.
  std::set<std::string> end() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    return found_;
  }
  int rounds() const { return rounds_; }

 private:
  void watch(const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++rounds_) {
      for (const fs::path& process : processes()) {
        const std::string line = content_of_file(process / "cmdline");
        if (contains(line + content_of_file(process / "environ"), value_)) found_.insert(line);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // Leaves the processors to the program.
    }
  }

  std::string value_;
  std::set<std::string> found_;
  std::atomic<int> rounds_ = 0;
  std::jthread thread_;  // The last member: it uses the others.
};

/// sparkplan of a user who is not root, with a secret. Limits would allow core dumps and locked memory of any size.
class UserWithSecret {
 public:
  UserWithSecret() {
    const Words words = controller_.command({});
    fs::copy_file(words.back(), program());
    for (const char* name : {"tmp", "run"}) fs::create_directory(path(name));
    controller_.file("hf.token", kControllerCanary + "\n");
    fs::permissions(path("hf.token"), fs::perms::owner_read | fs::perms::owner_write);
    controller_.cluster(kSecretSections + nodes_of_lab(1));
    const std::string owner = std::string(kUnprivileged) + ":" + kUnprivileged;
    REQUIRE(run_program({"chown", "-R", owner, controller_.directory().string()}).exit_status == 0);
  }

  Words command(const Words& arguments) const {
    Words words = controller_.command({});
    words.back() = "TMPDIR=" + path("tmp").string();
    words.push_back("XDG_RUNTIME_DIR=" + path("run").string());
    words.push_back(program().string());
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Words as_user{"prlimit",     "--core=unlimited", "setpriv",     "--reuid",
                        kUnprivileged, "--regid",          kUnprivileged, "--clear-groups"};
    // The last "env" is sparkplan's own one; an earlier one starts lab.sh.
    const auto own = std::find(words.rbegin(), words.rend(), "env");
    words.insert(std::prev(own.base()), as_user.begin(), as_user.end());
    return words;
  }

  Run run(const Words& arguments) const {
    auto output = run_program(command(arguments), seconds(100));
    return {output.exit_status, std::move(output.standard_output), std::move(output.standard_error), {}};
  }

  const Controller& controller() const { return controller_; }
  fs::path path(const std::string& name) const { return controller_.directory() / name; }
  fs::path program() const { return path("sparkplan"); }

  /// The directory in /proc of the program while it runs.
  std::optional<fs::path> process() const {
    for (const fs::path& one : processes()) {
      std::error_code ended;
      if (fs::read_symlink(one / "exe", ended) == fs::canonical(program())) return one;
    }
    return std::nullopt;
  }

 private:
  Controller controller_;
};

/// The soft limit of the size of a core dump.
std::string core_limit(const fs::path& process) {
  const std::string limits = content_of_file(process / "limits");
  const std::string title = "Max core file size";
  const auto at = limits.find(title);
  if (at == std::string::npos) return "";
  const auto begin = limits.find_first_not_of(' ', at + title.size());
  return limits.substr(begin, limits.find(' ', begin) - begin);
}

uid_t owner_of(const fs::path& file) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status.st_uid;
}

/// Files of the last hour with the value: all below `directory`, and where programs put temporary files, logs and
/// dumps.
std::vector<std::string> files_of_machine_with(const std::string& value, const fs::path& directory) {
  Words find{"find", directory.string()};
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm", "/var/log", "/var/crash", "/var/lib/systemd/coredump"}) {
    if (fs::exists(place)) find.emplace_back(place);
  }
  for (const char* word : {"-xdev", "-type", "f", "-mmin", "-60", "-exec", "grep", "-lsF", "-e"})
    find.emplace_back(word);
  find.insert(find.end(), {value, "{}", "+"});
  const std::string output = run_program(find, seconds(100)).standard_output;
  std::set<std::string> files;
  for (const std::string_view line : lines_of(output)) files.emplace(line);
  return {files.begin(), files.end()};
}

void check_silent(const Run& run) {
  CHECK_FALSE(contains(run.out, kControllerCanary));
  CHECK_FALSE(contains(run.err, kControllerCanary));
}

}  // namespace

TEST_CASE("secrets: on the controller, a canary is in its source alone, and in no process, output, file or core dump") {
  const Host host(1);
  host.shell("rm -rf " + kTokenFile + " /etc/sparkplan");  // A removal would restore what an earlier case has left.
  const UserWithSecret user;
  MachineWatch watch(kControllerCanary);
  for (const Words& words :
       {Words{"validate", "--json"}, Words{"-vv", "--log-file", "plan.log", "plan", "-o", "secret.plan"},
        Words{"plan", "--report", "plan.html", "--json"}, Words{"plan", "--format", "markdown"},
        Words{"show", "secret.plan"}, Words{"show", "secret.plan", "--json"}}) {
    const auto run = user.run(words);
    require_exit(run, 0);
    check_silent(run);
  }
  {
    Terminal apply(user.command({"-vv", "--log-file", "apply.log", "apply", "--yes"}));
    REQUIRE(apply.wait_for("applying systemd_unit/lab-slow.service", seconds(60)));
    const auto process = user.process();
    REQUIRE(process);
    CHECK(owner_of(*process) == kUnprivilegedUser);
    // The kernel gives these files to root if the process writes no core dump and shows its memory to no other process
    // of its user. Source: proc(5), prctl(2) PR_SET_DUMPABLE.
    CHECK(owner_of(*process / "environ") == 0);
    CHECK(core_limit(*process) == "0");
    CHECK(apply.finish() == 0);
    CHECK_FALSE(contains(apply.transcript(), kControllerCanary));
  }
  CHECK(host.text(kTokenFile) == kControllerCanary);
  for (const Words& words :
       {Words{"-vv", "apply", "--yes", "--json"}, Words{"drift", "--json"}, Words{"status", "--json"}, Words{"history"},
        Words{"history", "--json"}, Words{"history", "spark-01"}, Words{"facts", "--json"},
        Words{"doctor", "--json", "--report", "doctor.html"}}) {
    check_silent(user.run(words));
  }
  CHECK(watch.end().empty());
  CHECK(watch.rounds() > 10);
  // The places where a value could be, and its source, which shows that the search finds values.
  for (const char* file : {"secret.plan", "plan.log", "apply.log", "plan.html", "doctor.html",
                           "home/.local/state/sparkplan/runs.jsonl", "home/.ssh/known_hosts"}) {
    INFO(file);
    CHECK(fs::exists(user.path(file)));
  }
  CHECK(files_of_machine_with(kControllerCanary, user.controller().directory()) ==
        std::vector{user.path("hf.token").string()});
  CHECK(fs::is_empty(user.path("tmp")));
  CHECK(fs::is_empty(user.path("run")));

  user.controller().cluster(nodes_of_lab(1));
  require_exit(user.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(host.has(kTokenFile));
}

}  // namespace sparkplan::test
