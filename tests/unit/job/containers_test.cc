// The end of containers, with a program in place of the engine; and jobs whose ranks are its clients.
#include "engine/job/containers.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "engine/launch/job_run.h"
#include "tests/support/catch.h"
#include "tests/unit/job/fake_engine.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::eventually;
using test::FakeEngine;
using test::parent_of;
using test::processes_with;
using test::unique_sleep;
using Words = std::vector<std::string>;

class Silent final : public JobOutput {
 public:
  Result<void> take(const OutputSource&, std::string_view) override { return {}; }
};

/// A job with one rank, a client of the fake engine that makes the container c0ffee.
class ContainerJob {
 public:
  ContainerJob() : nodes_(test::local_nodes(1)), time(unique_sleep()) {
    StartJob start;
    start.id = "test-" + std::to_string(::getpid()) + "-c";
    start.ranks.push_back({0, {"docker", "run", time}, {}});
    start.grace_ms = 300;
    start.containers.engine = "docker";
    jobs_.push_back({&nodes_[0], std::move(start)});
    options.command = "run";
    options.stop = stop.get_token();
  }
  ContainerJob(const ContainerJob&) = delete;
  ContainerJob& operator=(const ContainerJob&) = delete;

  /// Calls `act` when the container runs; that it runs is a condition of the case.
  template <class Act>
  JobReport run(Act act) {
    bool ran = false;
    JobReport report;
    {
      const std::jthread actor([&] {
        ran = eventually([&] { return engine.has("c0ffee") && !processes_with(time).empty(); });
        act();
      });
      report = run_job(jobs_, output_, options);
    }
    REQUIRE(ran);
    return report;
  }

  FakeEngine engine;
  std::stop_source stop;
  JobRunOptions options;

 private:
  std::vector<NodeSpec> nodes_;
  std::vector<NodeJob> jobs_;
  Silent output_;

 public:
  const std::string time;
};

/// The subcommands that the engine was called with.
Words calls_of(const FakeEngine& engine) {
  Words words;
  std::istringstream calls(engine.calls());
  for (std::string line; std::getline(calls, line);) words.push_back(line.substr(0, line.find(' ')));
  return words;
}

std::map<int, pid_t> processes_of(const std::string& engine, const std::string& id, milliseconds patience) {
  const int answer = job::ask_for_processes(engine, id, patience);
  REQUIRE(answer >= 0);
  std::string text;
  std::array<char, 4096> buffer{};
  pollfd waiting{answer, POLLIN, 0};
  while (::poll(&waiting, 1, 20'000) == 1) {
    const auto count = ::read(answer, buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(answer);
  ::waitpid(-1, nullptr, 0);
  return job::processes_in(text);
}

}  // namespace

TEST_CASE("containers with the label of the job are killed and removed") {
  const FakeEngine engine;
  engine.add("abc1");
  engine.add("abc2");
  CHECK(job::remove_containers("docker", "j-1", seconds(20)).empty());
  CHECK_FALSE(engine.has("abc1"));
  CHECK_FALSE(engine.has("abc2"));
  CHECK(engine.calls().find("ps --all --quiet --no-trunc --filter label=sparkplan.job=j-1\n") != std::string::npos);
  CHECK(engine.calls().find("rm --force abc1 abc2\n") != std::string::npos);
}

TEST_CASE("the first process of each rank's container is asked of the engine, and lines of another shape are ignored") {
  const FakeEngine engine(
      "case $1 in ps) echo abc1; echo abc2 ;; "
      "inspect) printf '%s\\n' '0 4711' '1 0' 'x 12' '2 99 3' '-1 5' '3 -7' '4 1' '5 4712' '' ;; esac\n");
  CHECK(processes_of("docker", "j-1", seconds(20)) == std::map<int, pid_t>{{0, 4711}, {5, 4712}});
  CHECK(engine.calls().find("{{index .Config.Labels \"sparkplan.rank\"}} {{.State.Pid}} abc1 abc2\n") !=
        std::string::npos);
}

TEST_CASE("an answer of the engine that is cut gives no other process") {
  CHECK(job::processes_in("0 4711\n5 47") == std::map<int, pid_t>{{0, 4711}});
}

TEST_CASE("without an answer of the engine, and without containers, a look has no process of a container") {
  const FakeEngine broken("case $1 in ps) echo abc1 ;; *) echo '0 4711'; exit 1 ;; esac\n");
  CHECK(processes_of("docker", "j-1", seconds(20)).empty());
  CHECK(processes_of("", "j-1", seconds(20)).empty());
  const FakeEngine none;
  CHECK(processes_of("podman", "j-1", seconds(20)).empty());
  CHECK(none.calls().find("inspect") == std::string::npos);
}

TEST_CASE("a container that the engine makes after its client has ended is found by the second look") {
  const FakeEngine engine(
      "case $1 in ps) if test -e ../looked; then test -e ../late || { : >../late; : >abc; }; fi; "
      ": >../looked; ls ;; rm) shift 2; rm -f -- \"$@\" ;; esac\n");
  CHECK(job::remove_containers("docker", "j-1", seconds(20)).empty());
  CHECK_FALSE(engine.has("abc"));
  CHECK(engine.calls().find("rm --force abc\n") != std::string::npos);
}

TEST_CASE("podman is asked few times: it has no daemon, and its rm kills") {
  const FakeEngine engine;
  job::remove_found_containers("podman", "j-1", seconds(20));
  CHECK(calls_of(engine) == Words{"ps"});
  engine.add("abc1");
  job::remove_found_containers("podman", "j-1", seconds(20));
  CHECK_FALSE(engine.has("abc1"));
  CHECK(job::remove_containers("podman", "j-1", seconds(20)).empty());
  CHECK(calls_of(engine) == Words{"ps", "ps", "rm", "ps"});
  engine.add("abc2");
  CHECK(job::remove_containers("podman", "j-1", seconds(20)).empty());
  CHECK_FALSE(engine.has("abc2"));
}

TEST_CASE("containers that stay are named, and so is an engine that fails, hangs or is missing") {
  {
    const FakeEngine engine("test $1 = ps && ls; true\n");
    engine.add("abc");
    CHECK(job::remove_containers("docker", "j-1", milliseconds(900)) == Words{"abc"});
  }
  for (const char* script : {"exit 1\n", "exec sleep 1000\n"}) {
    INFO(script);
    const FakeEngine engine(script);
    const auto begun = std::chrono::steady_clock::now();
    CHECK(job::remove_containers("docker", "j-1", milliseconds(700)) == Words{"docker does not answer"});
    CHECK(std::chrono::steady_clock::now() - begun < seconds(10));
  }
  CHECK(job::remove_containers("", "j-1", seconds(20)).empty());
  CHECK(job::remove_containers("rm", "j-1", seconds(20)).empty());
}

TEST_CASE("what an engine prints becomes no argument unless it is an id") {
  const FakeEngine engine("test $1 = ps && printf '%s\\n' '--all' '' 'a b' '$(id)' 'abc' && rm -f abc; true\n");
  (void)job::remove_containers("docker", "j-1", milliseconds(700));
  CHECK(engine.calls().find("rm --force abc\n") != std::string::npos);
  CHECK(engine.calls().find("rm --force --all") == std::string::npos);
}

TEST_CASE("the output of a program is bounded, and a failure is none") {
  CHECK(job::output_of({"echo", "one"}, seconds(20)) == "one\n");
  CHECK_FALSE(job::output_of({"false"}, seconds(20)));
  CHECK_FALSE(job::output_of({"no-such-program"}, seconds(20)));
  const auto flood = job::output_of({"head", "-c", "10000000", "/dev/zero"}, seconds(20));
  REQUIRE(flood);
  CHECK(flood->size() < 100'000);
  CHECK_FALSE(job::output_of({"sleep", "1000"}, milliseconds(50)));
}

TEST_CASE("a job that is stopped ends its containers, and reports none") {
  ContainerJob job;
  const auto report = job.run([&] { job.stop.request_stop(); });
  CHECK_FALSE(report.nodes[0].error);
  CHECK(report.nodes[0].containers_left.empty());
  CHECK_FALSE(job.engine.has("c0ffee"));
  CHECK(processes_with(job.time).empty());
}

TEST_CASE("a client that is killed leaves no container") {
  ContainerJob job;
  const auto report = job.run([&] {
    for (const pid_t pid : processes_with(job.time)) ::kill(pid, SIGKILL);
  });
  REQUIRE(report.nodes[0].ranks[0].ended);
  CHECK(report.nodes[0].ranks[0].ended->signal == SIGKILL);
  CHECK_FALSE(job.engine.has("c0ffee"));
}

TEST_CASE("SIGKILL to the process starter leaves no container: its guardian removes it") {
  ContainerJob job;
  const auto report = job.run([&] {
    const auto ranks = processes_with(job.time);
    const pid_t starter = ranks.empty() ? 0 : parent_of(ranks.front());
    if (starter > 1) ::kill(starter, SIGKILL);
  });
  CHECK(report.nodes[0].error);
  CHECK(eventually([&] { return !job.engine.has("c0ffee") && processes_with(job.time).empty(); }));
}

}  // namespace sparkplan
