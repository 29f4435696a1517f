// Commit-confirm: no thread uses the connection of another thread's node, and probes decide what is kept.
#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/fleet/trial_bench.h"

namespace sparkplan {
namespace {

using test::TrialBench;

bool asks_for_ssh(const ProbeTarget& target) { return target.ssh_port != 0; }

}  // namespace

TEST_CASE("trial: a node's connection that dies during a probe is used only by that node's own thread") {
  TrialBench bench(3);
  // While n2 probes, n3 waits and is pinged. A ping to n2 at that time would be a second thread in its connection.
  bench.node("n2").reaches = [&](const ProbeTarget& target) {
    if (!asks_for_ssh(target)) return true;
    (void)bench.node("n3").is_pinged(50);
    bench.node("n2").cut = true;
    return true;
  };
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.why_not.empty());
  for (const std::string name : {"n1", "n2", "n3"}) CHECK_FALSE(bench.node(name).used_by_two);
  CHECK(bench.node("n3").probed == std::vector<ProbeTarget>{{"10.0.0.1", "", 0, 22}});
}

TEST_CASE("trial: a node that delays its answers does not use up the windows of the other nodes of its wave") {
  TrialBench bench(4);
  bench.changing = 4;
  bench.window = std::chrono::seconds(3);
  bool extended = false;
  // n2 is the canary. While n4 probes after its change, the others of its wave wait with theirs.
  bench.node("n4").reaches = [&](const ProbeTarget&) {
    if (bench.node("n4").transaction && !extended) extended = bench.node("n3").is_extended();
    return true;
  };
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(extended);
  CHECK(bench.states.at("n3") == Trial::State::kConfirmed);
  for (const std::string name : {"n1", "n3", "n4"}) CHECK_FALSE(bench.node(name).used_by_two);
}

TEST_CASE("trial: a node that was confirmed in an earlier stage is no canary of the next one") {
  TrialBench bench(4);
  bench.changing = 2;
  bench.changing_later = 2;
  bench.node("n3").reaches = [&](const ProbeTarget&) { return !bench.node("n3").transaction; };
  bench.carry_out();
  CHECK(bench.states.at("n1") == Trial::State::kConfirmed);
  CHECK(bench.states.at("n2") == Trial::State::kConfirmed);
  CHECK(bench.node("n3").trials == 1);
  CHECK(bench.node("n4").trials == 0);
}

TEST_CASE("trial: a change is confirmed over a connection to the machine with the same host key only") {
  TrialBench bench(2);
  bench.node("n1").other_machine = 2;
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.node("n1").connections == 3);
}

TEST_CASE("trial: after the trial, requests to a node have their usual time again") {
  TrialBench bench(2);
  bench.window = std::chrono::seconds(5);
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.patience > bench.window);
}

TEST_CASE("while one node answers its lock late, the agents of all other nodes are kept alive, also with one worker") {
  TrialBench bench(3);
  CHECK(bench.is_heard_during_lock_of_last());
}

TEST_CASE("while the plan of one node is computed, the agents of the other locked nodes are kept alive") {
  TrialBench bench(3);
  CHECK(bench.is_heard_during_work_on_first());
}

TEST_CASE("trial: the controller's own machine is kept only if another node reaches it") {
  TrialBench bench(7);
  for (const std::string name : {"n2", "n3", "n4", "n5", "n6", "n7"})
    bench.node(name).reaches = std::not_fn(asks_for_ssh);
  SECTION("the last node reaches it") {
    bench.node("n7").reaches = asks_for_ssh;
    CHECK(bench.carry_out() == Trial::State::kConfirmed);
  }
  SECTION("no node reaches it") {
    CHECK(bench.carry_out() != Trial::State::kConfirmed);
    CHECK(bench.why_not == "no other node reaches it at 10.0.0.1 any more");
  }
}

TEST_CASE("trial: neighbours that answered before have to answer large packets afterwards") {
  TrialBench bench(2);
  SECTION("they do") { CHECK(bench.carry_out() == Trial::State::kConfirmed); }
  SECTION("large packets are lost") {
    bench.node("n1").reaches = [](const ProbeTarget& target) { return target.bytes < 1500; };
    CHECK(bench.carry_out() != Trial::State::kConfirmed);
    CHECK(bench.why_not == "packets of 9000 bytes do not reach 192.168.100.2: a device on the path has a smaller MTU");
  }
  const ProbeTarget small{"192.168.100.2", "", 84, 0};
  const ProbeTarget large{"192.168.100.2", "", 9000, 0};
  CHECK(bench.node("n1").probed == std::vector<ProbeTarget>{small, small, large});
}

TEST_CASE("trial: a node that stops answering has its neighbour's change rolled back, unless --exclude names it") {
  for (const bool excluded : {false, true}) {
    TrialBench bench(3);
    auto& n1 = bench.node("n1");
    n1.reaches = [&](const ProbeTarget& target) { return target.address != "192.168.100.2" || !n1.transaction; };
    if (excluded) bench.excluded = {"n2"};
    CHECK((bench.carry_out() == Trial::State::kConfirmed) == excluded);
    CHECK(bench.why_not == (excluded ? "" : "it no longer reaches 192.168.100.2"));
  }
}

TEST_CASE("trial: what a rollback did not restore is in the report, however the node was rolled back") {
  TrialBench bench(2);
  auto& n1 = bench.node("n1");
  n1.not_restored = {"eth0: it did not return to its earlier state", "the route 10.5.0.0/16 through eth0"};
  SECTION("a step fails") {
    bench.steps = 2;
    n1.last_step_fails = true;
  }
  SECTION("sparkplan has it rolled back") {
    n1.reaches = [&](const ProbeTarget&) { return !n1.transaction; };
    SECTION("and receives the answer") {}
    SECTION("and finds it rolled back at the next connection") { n1.answers_rollback = false; }
  }
  SECTION("its timer is faster than the confirmation") { n1.undoes_before_confirmation = true; }
  CHECK(bench.carry_out() == Trial::State::kUndone);
  INFO(bench.error);
  CHECK(bench.error.find("its earlier state is restored, except for eth0: it did not return to its earlier state; the "
                         "route 10.5.0.0/16 through eth0: ") != std::string::npos);
}

TEST_CASE("trial: a node whose trial ended with an error is asked whether it has begun the steps") {
  TrialBench bench(2);
  auto& n1 = bench.node("n1");
  n1.failure = make_error(ErrorCode::kFailed, "could not be restored: eth1", "run on the node, as root: ...");
  SECTION("it has no trial, so the steps were not begun") {
    CHECK(bench.carry_out() == Trial::State::kEnded);
    CHECK_FALSE(bench.may_have_changed);
  }
  SECTION("its earlier state is not restored") {
    n1.left = TransactionState::kRollbackFailed;
    CHECK(bench.carry_out() == Trial::State::kUndone);
    CHECK(bench.may_have_changed);
  }
  SECTION("its trial goes on, so that it is rolled back") {
    n1.left = TransactionState::kArmed;
    CHECK(bench.carry_out() == Trial::State::kUndone);
    CHECK(n1.transaction->state == TransactionState::kRolledBack);
    CHECK_FALSE(bench.may_have_changed);
  }
  CHECK(bench.failed == std::vector<std::string>{"n1"});
}

}  // namespace sparkplan
