// Jobs as real processes of the shipped process starter: what is started, what ends it, and what is left.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "engine/launch/job_run.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::eventually;
using test::local_nodes;
using test::parent_of;
using test::processes_with;
using test::unique_sleep;

/// Counts and keeps the output; `slow` waits while it is set.
class Collected final : public JobOutput {
 public:
  Result<void> take(const OutputSource& source, std::string_view bytes) override {
    while (slow) std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    total += bytes.size();
    auto& text = texts_[source];
    if (text.size() < 4096) text += bytes;
    if (fails) return failure(ErrorCode::kFailed, "the disk is full");
    return {};
  }
  std::string text(std::size_t node, int rank, bool error = false) const {
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find({node, rank, error});
    return found == texts_.end() ? "" : found->second;
  }

  std::atomic<std::size_t> total{0};
  std::atomic<bool> slow{false};
  std::atomic<bool> fails{false};

 private:
  mutable std::mutex mutex_;
  std::map<OutputSource, std::string> texts_;
};

/// A job on local nodes.
class Job {
 public:
  explicit Job(int nodes) : nodes_(local_nodes(nodes)) {
    for (const NodeSpec& node : nodes_) {
      jobs.push_back({&node, {}});
      // All of these nodes are one machine, on which each job ends all processes with its mark.
      jobs.back().start.id = "test-" + std::to_string(::getpid()) + "-" + node.name.str();
    }
    options.command = "exec";
    options.stop = stop.get_token();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Adds a rank to a node.
  StartJob& add(std::size_t node, std::vector<std::string> argv) {
    int rank = 0;
    for (const NodeJob& job : jobs) rank += static_cast<int>(job.start.ranks.size());
    jobs[node].start.ranks.push_back({rank, std::move(argv), {}});
    return jobs[node].start;
  }
  JobReport run() { return run_job(jobs, output, options); }

  std::vector<NodeJob> jobs;
  Collected output;
  std::stop_source stop;
  JobRunOptions options;

 private:
  std::vector<NodeSpec> nodes_;
};

std::string shell_sleep(const std::string& time) { return "exec sleep " + time; }

}  // namespace

TEST_CASE("a process starter shows its job in its command line, and keeps its name") {
  Job job(1);
  auto& start = job.add(0, {"sh", "-c", "read -r name </proc/$PPID/comm; echo $name; cat /proc/$PPID/cmdline"});
  start.who = "anna@laptop";
  start.command = "python3 train.py";
  const auto report = job.run();
  REQUIRE(report.nodes[0].ranks[0].succeeded());
  const auto text = job.output.text(0, 0);
  CHECK(text.rfind("sparkplan-job\n", 0) == 0);
  const auto record = job_record_in(std::string_view(text).substr(text.find('\n') + 1));
  REQUIRE(record);
  CHECK(*record == JobRecord{start.id, "anna@laptop", "python3 train.py"});
}

TEST_CASE("each rank's streams, exit code and signal are reported") {
  Job job(2);
  job.add(0, {"sh", "-c", "echo out; echo err >&2; exit 3"});
  job.add(1, {"sh", "-c", "kill -9 $$"});
  const auto report = job.run();
  REQUIRE(report.nodes.size() == 2);
  REQUIRE(report.nodes[0].ranks.size() == 1);
  const auto& first = report.nodes[0].ranks[0];
  REQUIRE(first.ended);
  CHECK(first.ended->exit_code == 3);
  CHECK(ending_text(*first.ended) == "exit code 3");
  CHECK(first.pid > 0);
  CHECK(job.output.text(0, 0) == "out\n");
  CHECK(job.output.text(0, 0, true) == "err\n");
  const auto& second = report.nodes[1].ranks[0];
  REQUIRE(second.ended);
  CHECK(second.ended->signal == 9);
  CHECK(ending_text(*second.ended) == "signal 9 (Killed)");
}

TEST_CASE("an argument reaches the command as it is, and no shell reads it") {
  Job job(1);
  const std::string odd = "a b'\"$(id)`;|&\n[x,y] *";
  job.add(0, {"printf", "%s", odd});
  CHECK(job.run().nodes[0].ranks[0].succeeded());
  CHECK(job.output.text(0, 0) == odd);
}

TEST_CASE("a rank has its variables, its directory and an empty input") {
  Job job(1);
  auto& start = job.add(0, {"sh", "-c", "pwd; echo $RANK; cat; echo $SPARKPLAN_JOB"});
  start.ranks[0].environment["RANK"] = "7";
  start.directory = "/usr";
  CHECK(job.run().nodes[0].ranks[0].succeeded());
  CHECK(job.output.text(0, 0) == "/usr\n7\n" + start.id + "\n");
}

TEST_CASE("a command or a directory that does not exist is named, and other nodes are not affected") {
  Job job(3);
  job.add(0, {"no-such-command"});
  job.add(1, {"true"}).directory = "/no/such/directory";
  job.add(2, {"true"});
  const auto report = job.run();
  REQUIRE(report.nodes[0].ranks[0].ended);
  CHECK(ending_text(*report.nodes[0].ranks[0].ended) == "command not found");
  REQUIRE(report.nodes[1].ranks[0].ended);
  CHECK(ending_text(*report.nodes[1].ranks[0].ended) ==
        "not started: change to the directory: No such file or directory");
  CHECK(report.nodes[2].ranks[0].succeeded());
}

TEST_CASE("processes that a command leaves behind are ended, also those of other sessions") {
  Job job(1);
  const auto time = unique_sleep();
  job.add(0, {"sh", "-c", "sleep " + time + " & setsid sleep " + time + " & echo started"});
  const auto begun = Clock::now();
  CHECK(job.run().nodes[0].ranks[0].succeeded());
  CHECK(Clock::now() - begun < seconds(20));
  CHECK(job.output.text(0, 0) == "started\n");
  CHECK(processes_with(time).empty());
}

TEST_CASE("the time limit ends a command that ignores SIGTERM") {
  Job job(1);
  const auto time = unique_sleep();
  auto& start = job.add(0, {"sh", "-c", "trap '' TERM; while :; do sleep " + time + "; done"});
  start.time_limit_ms = 200;
  start.grace_ms = 200;
  const auto report = job.run();
  REQUIRE(report.nodes[0].ranks[0].ended);
  CHECK(report.nodes[0].ranks[0].ended->ending == RankEnding::kTimeLimit);
  CHECK(report.nodes[0].ranks[0].ended->signal == SIGKILL);
  CHECK(processes_with(time).empty());
}

TEST_CASE("a stop ends all ranks on all nodes") {
  Job job(3);
  const auto time = unique_sleep();
  for (std::size_t node = 0; node < 3; ++node) job.add(node, {"sh", "-c", shell_sleep(time)});
  const std::jthread stopper([&] {
    (void)eventually([&] { return processes_with(time).size() == 3; });
    job.stop.request_stop();
  });
  const auto report = job.run();
  CHECK(report.interrupted);
  for (const auto& node : report.nodes) {
    REQUIRE(node.ranks[0].ended);
    CHECK(node.ranks[0].ended->ending == RankEnding::kStopped);
  }
  CHECK(processes_with(time).empty());
}

TEST_CASE("the failure of one rank of one job ends the others, first with SIGTERM and then with SIGKILL") {
  Job job(2);
  job.options.together = true;
  const auto time = unique_sleep();
  for (std::size_t node = 0; node < 2; ++node) {
    auto& start = job.add(node, {"sh", "-c", "trap '' TERM; while :; do sleep " + time + "; done"});
    start.together = true;
    start.grace_ms = 300;
  }
  job.add(0, {"sh", "-c", shell_sleep(time)});
  job.add(1, {"sh", "-c", "exit 5"});
  const auto report = job.run();
  CHECK(report.nodes[1].ranks[1].ended->exit_code == 5);
  CHECK(report.nodes[0].ranks[0].ended->signal == SIGKILL);
  CHECK(report.nodes[0].ranks[1].ended->signal == SIGTERM);
  CHECK(report.nodes[0].ranks[1].ended->ending == RankEnding::kStopped);
  CHECK(processes_with(time).empty());
}

TEST_CASE("a node that holds ends marked processes that others have started there, when the job is over") {
  Job job(2);
  job.options.together = true;
  job.jobs[1].start.hold = true;
  // As mpirun does over ssh: a process with the mark, and no descendant of the starter.
  const std::string mark = std::string(kJobVariable) + "=" + job.jobs[1].start.id;
  const auto time = unique_sleep();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/usr/bin/env", "env", mark.c_str(), "sleep", time.c_str(), nullptr);
    ::_exit(127);
  }
  REQUIRE(child > 0);
  job.add(0, {"true"});
  const auto report = job.run();
  CHECK(report.nodes[0].ranks[0].succeeded());
  CHECK_FALSE(report.nodes[1].error);
  int status = 0;
  CHECK(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("SIGKILL to the process starter leaves no process, and the node is reported") {
  Job job(1);
  const auto time = unique_sleep();
  job.add(0, {"sh", "-c", "setsid sleep " + time + " & sleep " + time});
  const std::jthread killer([&] {
    (void)eventually([&] { return processes_with(time).size() >= 3; });
    const auto ranks = processes_with(time);
    // The shell is the oldest of them, and its parent is the starter. 1 and 0 would be a process that has ended.
    const pid_t starter = ranks.empty() ? 0 : parent_of(*std::min_element(ranks.begin(), ranks.end()));
    if (starter > 1) ::kill(starter, SIGKILL);
  });
  const auto report = job.run();
  CHECK(report.nodes[0].error);
  CHECK(eventually([&] { return processes_with(time).empty(); }));
}

TEST_CASE("a flood of output needs little memory: a rank waits until its output is taken") {
  Job job(2);
  job.add(0, {"head", "-c", "50000000", "/dev/zero"});
  job.add(1, {"sh", "-c", "yes | head -n 200000"});
  job.output.slow = true;
  const std::jthread release([&] {
    // The queue, the pipes and one piece per node are all that can have left the ranks by then.
    (void)eventually([&] { return !processes_with("50000000").empty(); });
    job.output.slow = false;
  });
  const auto report = job.run();
  CHECK(report.nodes[0].ranks[0].succeeded());
  CHECK(report.nodes[1].ranks[0].succeeded());
  CHECK(job.output.total == 50'000'000 + 400'000);
}

TEST_CASE("output that cannot be written ends the run and is reported") {
  Job job(1);
  job.output.fails = true;
  job.add(0, {"yes"});
  const auto report = job.run();
  REQUIRE(report.output_error);
  CHECK(report.output_error->message == "the disk is full");
  CHECK_FALSE(report.nodes[0].ranks[0].succeeded());
}

TEST_CASE("a node that cannot be reached fails alone; of one job, nothing is started") {
  for (const bool together : {false, true}) {
    INFO(together);
    Job job(2);
    job.options.together = together;
    job.options.agent.connector = [](const NodeSpec& node,
                                     const ConnectOptions& options) -> Result<std::unique_ptr<Connection>> {
      if (node.name.str() == "spark-02") return failure(ErrorCode::kUnreachable, "no route to host");
      return connect(node, options);
    };
    job.add(0, {"true"});
    job.add(1, {"true"});
    const auto report = job.run();
    CHECK_FALSE(report.nodes[0].error);
    CHECK(report.nodes[0].ranks.size() == (together ? 0 : 1));
    REQUIRE(report.nodes[1].error);
    CHECK(report.nodes[1].error->code == ErrorCode::kUnreachable);
  }
}

}  // namespace sparkplan
