// Commit-confirm: jobs that run on the nodes hold disruptive changes.
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/fleet/trial_bench.h"

namespace sparkplan {
namespace {

using test::kTraining;
using test::TrialBench;

}  // namespace

TEST_CASE("trial: a job that was started since the plan keeps its node from being changed, and not in the run") {
  TrialBench bench(2);
  bench.node("n1").jobs = {kTraining};
  SECTION("its disruptive steps are deferred") {
    CHECK(bench.carry_out() == Trial::State::kWaiting);
    REQUIRE(bench.deferred);
    CHECK(bench.deferred->code == ErrorCode::kBusy);
    CHECK(bench.deferred->message.find("job 20260301T120000Z-4f9a1c07 of nvidia (process 4242) since "
                                       "2026-03-01T12:00:00Z, started by \"anna@laptop\": train") != std::string::npos);
    CHECK(bench.failed.empty());
  }
  SECTION("unless the user ignores jobs") {
    bench.ignore_jobs = true;
    CHECK(bench.carry_out() == Trial::State::kConfirmed);
    CHECK_FALSE(bench.deferred);
  }
}

TEST_CASE("trial: a canary with a new job is replaced by another canary, not by all nodes at once") {
  TrialBench bench(4);
  bench.changing = 4;
  // n1 is the controller's own machine, so n2 is first.
  bench.node("n2").jobs = {kTraining};
  bench.node("n3").reaches = [](const ProbeTarget& target) { return target.bytes < 1500; };
  CHECK(bench.carry_out() == Trial::State::kWaiting);
  REQUIRE(bench.node("n3").transaction);
  CHECK(bench.node("n3").transaction->state == TransactionState::kRolledBack);
  CHECK_FALSE(bench.node("n4").transaction);
}

TEST_CASE(
    "trial: while jobs hold the canaries, each next wave is one node, and the first confirmed one frees the rest") {
  TrialBench bench(6);
  bench.changing = 6;
  bench.node("n2").jobs = {kTraining};
  bench.node("n3").jobs = {kTraining};
  SECTION("the third canary is kept") {
    CHECK(bench.carry_out() == Trial::State::kConfirmed);
    for (const std::string name : {"n4", "n5", "n6"}) CHECK(bench.states.at(name) == Trial::State::kConfirmed);
  }
  SECTION("the third canary fails, and no other node is begun") {
    bench.node("n4").reaches = [](const ProbeTarget& target) { return target.bytes < 1500; };
    CHECK(bench.carry_out() == Trial::State::kWaiting);
    REQUIRE(bench.node("n4").transaction);
    CHECK(bench.node("n4").transaction->state == TransactionState::kRolledBack);
    for (const std::string name : {"n1", "n5", "n6"}) CHECK_FALSE(bench.node(name).transaction);
    REQUIRE(bench.deferred);
    CHECK(bench.deferred->message == "its disruptive changes were not started: a change was rolled back on n4");
  }
  for (const std::string name : {"n2", "n3"}) {
    CHECK(bench.states.at(name) == Trial::State::kWaiting);
    CHECK_FALSE(bench.node(name).transaction);
  }
}

TEST_CASE("trial: with a job on every node the run ends, and each node was asked once") {
  TrialBench bench(4);
  bench.changing = 4;
  for (const std::string name : {"n1", "n2", "n3", "n4"}) bench.node(name).jobs = {kTraining};
  CHECK(bench.carry_out() == Trial::State::kWaiting);
  for (const std::string name : {"n1", "n2", "n3", "n4"}) {
    CHECK(bench.states.at(name) == Trial::State::kWaiting);
    CHECK(bench.node(name).trials == 1);
  }
  CHECK(bench.failed.empty());
}

TEST_CASE("trial: a job that begins on a node of a later wave holds that node alone") {
  TrialBench bench(4);
  bench.changing = 4;
  bench.node("n3").jobs = {kTraining};
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.states.at("n2") == Trial::State::kConfirmed);
  CHECK(bench.states.at("n3") == Trial::State::kWaiting);
  CHECK(bench.states.at("n4") == Trial::State::kConfirmed);
}

TEST_CASE("trial: a job on one end of a cable holds the change of the other end") {
  TrialBench bench(4);
  bench.changing = 4;
  bench.held = "n3";
  bench.join("n2", "n3");
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.states.at("n2") == Trial::State::kWaiting);
  CHECK_FALSE(bench.node("n2").transaction);
  CHECK(bench.states.at("n4") == Trial::State::kConfirmed);
}

}  // namespace sparkplan
