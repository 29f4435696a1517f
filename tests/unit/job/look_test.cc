// The state of the ranks of a job, from the kernel's tables and from real processes.
#include "engine/job/look.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "engine/launch/job_run.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

constexpr const char* kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1\n"
    "   1: 0B64A8C0:A8CA 0C64A8C0:733C 02 00000001:00000000 01:00000064 00000003  1000        0 2 1\n"
    "   2: 0B64A8C0:A8CB 0C64A8C0:733C 01 00000000:00000000 02:00000064 00000000  1000        0 3 1\n"
    "   3: 0B64A8C0:A8CC 0C64A8C0:733C 01 00000100:00000000 01:00000064 00000005  1000        0 4 1\n"
    "   4: 0B64A8C0:A8CD 0C64A8C0:733C 08 00000000:00000001 00:00000000 00000000  1000        0 5 1\n"
    "   5: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:1F91 02 0:0 01:64 1 0 0 6 1\n"
    "   6: 0000000000000000FFFF00000B64A8C0:1F90 0000000000000000FFFF00000C64A8C0:1F91 08 0:0 00:0 0 0 0 7 1\n";

/// Runs a job until its first report of a stuck job, and stops it then.
JobView view_of(const std::vector<std::string>& script) {
  const auto nodes = test::local_nodes(static_cast<int>(script.size()));
  std::vector<NodeJob> jobs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    StartJob start;
    start.id = "look-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    start.ranks.push_back({static_cast<int>(i), {"sh", "-c", script[i]}, {}});
    start.grace_ms = 200;
    start.time_limit_ms = 20'000;  // The deadline of a case whose job is never reported.
    jobs.push_back({&nodes[i], std::move(start)});
  }
  class NoOutput final : public JobOutput {
    Result<void> take(const OutputSource&, std::string_view) override { return {}; }
  } output;
  std::stop_source stop;
  JobView seen;
  JobRunOptions options;
  options.together = true;
  options.stop = stop.get_token();
  options.watch = std::chrono::milliseconds(100);
  options.watch_report = [&](const JobView& view, const std::stop_token&) {
    if (seen.second.empty()) seen = view;
    stop.request_stop();
  };
  (void)run_job(jobs, output, options);
  return seen;
}

/// A child that does nothing until the object ends.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) ::pause();
    }
    REQUIRE(pid_ > 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

const SeenProcess* process_named(const SeenRank& rank, const std::string& name) {
  for (const SeenProcess& one : rank.processes) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("connections without a working peer are found in the tables of the kernel") {
  const auto found = job::lonely_sockets(kTable);
  CHECK(found.size() == 5);
  CHECK(found.at("2") == SeenSocket{SeenSocketState::kNoAnswer, "192.168.100.11:43210", "192.168.100.12:29500"});
  CHECK(found.at("4").state == SeenSocketState::kUnacknowledged);
  CHECK(found.at("5").state == SeenSocketState::kClosedByPeer);
  CHECK(found.at("6") == SeenSocket{SeenSocketState::kNoAnswer, "[::1]:8080", "[::1]:8081"});
  CHECK(found.at("7").remote == "192.168.100.12:8081");
}

TEST_CASE("a table that is cut or garbled is read as far as it goes") {
  for (const char* hostile :
       {"", "\n", "0: x:y z:w 02 a b c d e f", "0: 0B64A8C0:A8CA 0C64A8C0: 02 0:0 1:0 3 0 0 2",
        "0: 0B64A8C0:FFFFFF 0C64A8C0:1 02 0:0 1:0 3 0 0 2", "0: B64A8C0:1 0C64A8C0:1 02 0 1 3 0 0 2"}) {
    INFO(hostile);
    CHECK(job::lonely_sockets(hostile).empty());
  }
}

TEST_CASE("the two looks at a quiet job show a stopped rank as stopped, and the processor time of a busy one") {
  const auto view = view_of({"kill -STOP $$", "while :; do :; done"});
  REQUIRE(view.second.size() == 2);
  REQUIRE(view.first[1]);
  REQUIRE(view.second[0]);
  REQUIRE(view.second[1]);
  REQUIRE(view.second[0]->ranks.size() == 1);
  const SeenRank& stopped = view.second[0]->ranks[0];
  CHECK(stopped.rank == 0);
  REQUIRE_FALSE(stopped.processes.empty());
  CHECK(stopped.processes[0].state == "T");
  const auto cpu = [&](const std::optional<JobSeen>& seen) { return seen->ranks.at(0).processes.at(0).cpu_ms; };
  CHECK(cpu(view.second[1]) > cpu(view.first[1]));
  CHECK(view.between.count() >= 900);
}

TEST_CASE("a look names the processes below a rank, and what they wait for") {
  const auto time = test::unique_sleep();
  const auto view = view_of({"sleep " + time + " & wait"});
  REQUIRE(view.second.size() == 1);
  REQUIRE(view.second[0]);
  const SeenRank& rank = view.second[0]->ranks.at(0);
  const SeenProcess* sleeping = process_named(rank, "sleep");
  REQUIRE(sleeping != nullptr);
  CHECK(sleeping->state == "S");
  CHECK(rank.processes.front().name == "sh");
  CHECK(test::processes_with(time).empty());
}

TEST_CASE("a look adds the processes of a rank's container to those of the engine's client") {
  const Child client;
  const Child container;
  const Child of_another_rank;
  job::RankProcess rank;
  rank.rank = 3;
  rank.pid = client.pid();
  const auto seen = job::look_at_job("look-" + std::to_string(::getpid()) + "-c", {rank},
                                     {{3, container.pid()}, {4, of_another_rank.pid()}});
  REQUIRE(seen.ranks.size() == 1);
  REQUIRE(seen.ranks[0].processes.size() == 2);
  CHECK(seen.ranks[0].processes[0].pid == client.pid());
  CHECK(seen.ranks[0].processes[1].pid == container.pid());
}

}  // namespace sparkplan
