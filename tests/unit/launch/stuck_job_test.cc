// The likely causes of a job without output.
#include "engine/launch/stuck_job.h"

#include <limits>

#include "engine/report/job_text.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

SeenProcess process(std::int64_t pid, const std::string& state, std::int64_t cpu_ms = 0) {
  return {pid, "python3", state, state == "R" ? "" : "futex_wait_queue", cpu_ms};
}

/// Two nodes with a sleeping rank each.
class Quiet {
 public:
  Quiet() : nodes_(test::local_nodes(2)) {
    view.quiet = std::chrono::seconds(30);
    view.between = std::chrono::seconds(1);
    for (int i = 0; i < 2; ++i) {
      jobs_.push_back({&nodes_[static_cast<std::size_t>(i)], {}});
      view.first.push_back(JobSeen{{{i, {process(100 + i, "S")}, {}}}});
    }
    view.second = view.first;
    context.nodes_by_address = {{"192.168.100.11", "spark-01"}, {"192.168.100.12", "spark-02"}};
    context.lines = [this](std::size_t node, int) { return node < lines.size() ? lines[node] : LastLines(); };
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

  SeenRank& rank(std::size_t node) { return view.second[node]->ranks[0]; }
  StuckJob job() const { return stuck_job(view, jobs_, context); }
  std::string first_cause() const {
    const auto found = job().causes;
    return found.empty() ? "" : found[0].what;
  }
  std::string text() const { return to_text(job()); }

  JobView view;
  StuckContext context;
  std::vector<LastLines> lines;

 private:
  std::vector<NodeSpec> nodes_;
  std::vector<NodeJob> jobs_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a stopped rank is the first cause, with the command that lets it go on") {
  Quiet quiet;
  quiet.rank(1).processes = {process(77, "S"), process(78, "T")};
  CHECK(quiet.first_cause() == "spark-02 rank 1 is stopped");
  CHECK(contains(quiet.text(), "  spark-02 rank 1: stopped in futex_wait_queue, CPU 0 %, 2 processes, process 78\n"));
  CHECK(contains(quiet.text(), "  fix: kill -CONT 78 on spark-02\n"));
}

TEST_CASE("a wait in the kernel counts only if it lasts") {
  Quiet quiet;
  quiet.rank(0).processes = {process(100, "D")};
  CHECK(quiet.first_cause().empty());
  quiet.view.first[0]->ranks[0].processes = {process(100, "D")};
  CHECK(contains(quiet.first_cause(), "spark-01 rank 0 cannot be interrupted, in futex_wait_queue"));
}

TEST_CASE("a socket without a peer names the peer's node, and the doctor's cause") {
  Quiet quiet;
  quiet.rank(0).sockets = {{SeenSocketState::kNoAnswer, "192.168.100.11:43210", "192.168.100.12:29500"}};
  CHECK(quiet.first_cause() == "spark-01 rank 0 gets no answer from 192.168.100.12:29500 (spark-02)");
  CHECK(contains(quiet.text(), "    192.168.100.11:43210 -> 192.168.100.12:29500 (spark-02): no answer\n"));
  CHECK(contains(quiet.text(), "a firewall on the receiving node drops connections"));
  quiet.rank(0).sockets = {{SeenSocketState::kUnacknowledged, "192.168.100.11:1", "[fe80::1]:2"}};
  CHECK(quiet.first_cause() == "spark-01 rank 0 sends the same data again to [fe80::1]:2");
  quiet.rank(0).sockets = {{SeenSocketState::kClosedByPeer, "192.168.100.11:1", "192.168.100.12:2"}};
  CHECK(contains(quiet.first_cause(), "has lost its connection to"));
}

TEST_CASE("the rank that computes while others wait is named") {
  Quiet quiet;
  quiet.rank(1).processes = {process(101, "R", 980)};
  CHECK(quiet.job().ranks[1].cpu_percent == 98);
  CHECK(quiet.first_cause() == "spark-02 rank 1 computes, the others wait");
  quiet.rank(0).processes = {process(100, "R", 980)};
  CHECK(quiet.first_cause().empty());
}

TEST_CASE("NCCL's last lines tell whether the ranks have found each other") {
  Quiet quiet;
  quiet.lines = {{"step 1", "spark-01:1:1 [0] NCCL INFO Bootstrap : Using enp1s0f1np1"}, {}};
  CHECK(quiet.first_cause() == "NCCL has not connected all ranks");
  quiet.lines = {{"", "spark-01:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 - Init COMPLETE"}, {}};
  CHECK(contains(quiet.first_cause(), "an operation does not finish"));
  CHECK(contains(quiet.text(), "    last line of NCCL: spark-01:1:1"));
}

TEST_CASE("the faults that NCCL reports at its status port are shown once, and are a cause") {
  Quiet quiet;
  const std::vector<std::string> dead{"DEAD: 1 job process is considered dead", "#0-0 (cf26) INCOMPLETE"};
  quiet.context.nccl_faults = {{}, dead};
  CHECK(quiet.first_cause() == "NCCL on spark-02 reports DEAD: 1 job process is considered dead");
  CHECK(contains(quiet.text(), "  NCCL on spark-02: #0-0 (cf26) INCOMPLETE\n"));
  CHECK(contains(quiet.text(), "another rank ended, or the network between the ranks failed"));
  quiet.context.nccl_faults = {dead, dead, dead};
  CHECK(quiet.job().nccl.size() == 1);
  quiet.context.nccl_faults = {{"#0-0 (27a0) MISMATCH: Communicator ranks have different counts\x1b[2J"}};
  CHECK(contains(quiet.first_cause(), "NCCL on spark-01 reports #0-0 (27a0) MISMATCH"));
  CHECK_FALSE(contains(quiet.text(), "\x1b"));
  // A stopped rank explains what NCCL reports.
  quiet.rank(1).processes = {process(78, "T")};
  CHECK(quiet.first_cause() == "spark-02 rank 1 is stopped");
}

TEST_CASE("a node that claims every fault pushes no other node's cause out of the report") {
  Quiet quiet;
  for (auto* const seen : {&quiet.view.first, &quiet.view.second}) {
    seen->at(0)->ranks[0].processes = {process(100, "D")};
    seen->at(0)->ranks.push_back({5, {process(105, "T")}, {}});
  }
  for (const auto state :
       {SeenSocketState::kNoAnswer, SeenSocketState::kUnacknowledged, SeenSocketState::kClosedByPeer}) {
    quiet.rank(0).sockets.push_back({state, "192.168.100.11:1", "192.168.100.12:2"});
  }
  quiet.context.nccl_faults = {{"DEAD: 1 job process is considered dead"}};
  quiet.rank(1).sockets = {{SeenSocketState::kClosedByPeer, "192.168.100.12:1", "10.0.0.9:2"}};
  const auto causes = quiet.job().causes;
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].what == "spark-01 rank 5 is stopped");
  CHECK(causes[1].what == "spark-02 rank 1 has lost its connection to 10.0.0.9:2");
  // A fault that two nodes report is not the claim of one.
  quiet.context.nccl_faults.push_back(quiet.context.nccl_faults[0]);
  CHECK(quiet.job().causes.size() == 3);
}

TEST_CASE("a claim of one node keeps neither the rank that computes nor NCCL out of the report") {
  Quiet quiet;
  const auto add_ranks = [&](std::int64_t first, std::int64_t second) {
    for (auto* const seen : {&quiet.view.first, &quiet.view.second}) {
      seen->at(1)->ranks.push_back({6, {process(106, "R", seen == &quiet.view.first ? 0 : first)}, {}});
      seen->at(1)->ranks.push_back({7, {process(107, "R", seen == &quiet.view.first ? 0 : second)}, {}});
    }
  };
  SECTION("one node claims that its rank is stopped") {
    add_ranks(980, 0);
    quiet.rank(0).processes = {process(100, "T")};
    const auto causes = quiet.job().causes;
    REQUIRE(causes.size() == 2);
    CHECK(causes[0].what == "spark-01 rank 0 is stopped");
    CHECK(causes[1].what == "spark-02 rank 6 computes, the others wait");
  }
  SECTION("one node claims that its rank does nothing while all others wait in NCCL") {
    add_ranks(980, 980);
    quiet.rank(1).processes = {process(101, "R", 980)};
    quiet.lines = {{}, {"", "spark-02:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 - Init COMPLETE"}};
    const auto causes = quiet.job().causes;
    REQUIRE(causes.size() == 2);
    CHECK(causes[0].what == "spark-01 rank 0 does nothing, the others compute or wait in a loop");
    CHECK(contains(causes[1].what, "an operation does not finish"));
  }
}

TEST_CASE("a node that claims the same fault as another one pushes that node's cause out of no report") {
  Quiet quiet;
  quiet.rank(0).sockets = {{SeenSocketState::kNoAnswer, "192.168.100.11:1", "192.168.100.13:2"},
                           {SeenSocketState::kNoAnswer, "192.168.100.11:1", "192.168.100.14:2"}};
  quiet.rank(1).sockets = {{SeenSocketState::kNoAnswer, "192.168.100.12:1", "10.0.0.9:2"}};
  auto causes = quiet.job().causes;
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].what == "spark-01 rank 0 gets no answer from 192.168.100.13:2");
  CHECK(causes[1].what == "spark-02 rank 1 gets no answer from 10.0.0.9:2");
  // A peer about which two nodes agree comes first.
  quiet.rank(0).sockets.push_back({SeenSocketState::kNoAnswer, "192.168.100.11:1", "10.0.0.9:3"});
  causes = quiet.job().causes;
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].what == "spark-01 rank 0 gets no answer from 10.0.0.9:3; so does spark-02 rank 1");
  quiet.context.nccl_faults = {{"DEAD: claimed"}, {"DEAD: true"}};
  quiet.rank(0).sockets.clear();
  quiet.rank(1).sockets.clear();
  causes = quiet.job().causes;
  REQUIRE(causes.size() == 2);
  CHECK(causes[1].what == "NCCL on spark-02 reports DEAD: true");
}

TEST_CASE("of several ranks in the kernel, the node whose function is shown is named") {
  Quiet quiet;
  for (const std::size_t node : {0U, 1U}) {
    quiet.view.first[node]->ranks[0].processes = {process(100, "D")};
    quiet.rank(node).processes = {process(100, "D")};
  }
  CHECK(quiet.first_cause() ==
        "spark-01 rank 0, spark-02 rank 1 cannot be interrupted, on spark-01 in futex_wait_queue");
}

TEST_CASE("nodes without an answer are named, and so is a job without a known cause") {
  Quiet quiet;
  CHECK(contains(quiet.text(), "run: no output for 30 s\n"));
  CHECK(contains(quiet.text(), "  nothing points to a cause\n"));
  quiet.view.second[1].reset();
  CHECK(quiet.first_cause() == "no answer from spark-02");
  CHECK(contains(quiet.text(), "  spark-02: no answer\n"));
}

TEST_CASE("while a node prints, only the quiet nodes are named, and only causes that no working rank shows") {
  Quiet quiet;
  quiet.view.quiet_nodes = {1};
  quiet.rank(0).processes = {process(77, "T")};
  quiet.rank(1).processes = {process(101, "R", 980)};
  CHECK(quiet.first_cause().empty());
  CHECK(contains(quiet.text(), "run: no output for 30 s from spark-02; other nodes print\n  spark-02 rank 1: running"));
  CHECK_FALSE(contains(quiet.text(), "spark-01"));
  quiet.rank(1).processes = {process(78, "T")};
  CHECK(quiet.first_cause() == "spark-02 rank 1 is stopped");
}

TEST_CASE("while a node prints, the quiet nodes are news once, and again with another cause") {
  Quiet quiet;
  quiet.view.quiet_nodes = {1};
  CHECK(is_news(quiet.job(), {}));
  quiet.view.repeats = true;
  CHECK_FALSE(is_news(quiet.job(), {}));
  quiet.rank(1).processes = {process(78, "T")};
  CHECK(is_news(quiet.job(), {}));
  CHECK_FALSE(is_news(quiet.job(), quiet.job().causes));
  quiet.view.quiet_nodes.clear();
  CHECK(is_news(quiet.job(), quiet.job().causes));
}

TEST_CASE("the load of a GPU and the last line are shown, and nothing of a node controls the terminal") {
  Quiet quiet;
  quiet.context.gpus = {"96 %, 45.31 W\x1b[2J"};
  quiet.rank(0).processes = {{1, "\x1b[2J", "\x1b", "\x1b[2J\n", 0}};
  quiet.rank(0).sockets = {{SeenSocketState::kNoAnswer, "\x1b[2J", "\n! spark-09"}};
  const auto text = quiet.text();
  CHECK(contains(text, ", GPU 96 %, 45.31 W"));
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK_FALSE(contains(text, "\n! spark-09"));
}

TEST_CASE("hostile numbers of a node stay within bounds") {
  Quiet quiet;
  quiet.rank(0).processes = {process(100, "R", std::numeric_limits<std::int64_t>::max())};
  CHECK(quiet.job().ranks[0].cpu_percent <= 102'400);
  quiet.view.between = std::chrono::milliseconds(0);
  CHECK(quiet.job().ranks[0].cpu_percent == 0);
}

}  // namespace sparkplan
