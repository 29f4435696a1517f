// The past runs of all nodes, from their journals.
#include "engine/fleet/history/history.h"

#include <functional>
#include <limits>

#include "engine/load/load.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;

constexpr auto kFirstRun = "sysctl: {vm.swappiness: 10}\nprofile_env: {HF_HOME: /mnt/a}\n";

Report roll_back_last(FleetBench& bench) {
  bench.run.command = "rollback";
  bench.options.rollback.emplace();
  bench.options.allow_prune = true;
  auto report = bench.apply();
  bench.run.command = "apply";
  bench.options = {};
  return report;
}

std::vector<ClusterHistoryEntry> merged_of(std::vector<NodeHistory> histories, const std::set<RunKey>& recorded = {}) {
  return merged(histories, recorded);
}

}  // namespace

TEST_CASE("a history lists the runs of all nodes, newest first, with their outcomes") {
  FleetBench bench(2);
  bench.sections = kFirstRun;
  bench.apply_all();
  REQUIRE(exit_of(roll_back_last(bench)) == 0);
  const auto cluster = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
  REQUIRE(cluster.cluster);
  const auto histories = read_histories(*cluster.cluster, bench.run, true);
  REQUIRE(histories.size() == 2);
  const auto runs = merged_of(histories);
  REQUIRE(runs.size() == 2);
  const auto& rollback = runs[0];
  const auto& apply = runs[1];
  CHECK(rollback.run.purpose.undoes == apply.run.run);
  CHECK(rollback.run.outcome == RunOutcome::kApplied);
  CHECK(apply.run.operation == "apply");
  CHECK(apply.run.outcome == RunOutcome::kRolledBack);
  CHECK(apply.run.undone_by == rollback.run.run);
  CHECK(apply.run.changes == 4);
  CHECK(apply.nodes == std::vector<std::string>{"n1", "n2"});
  CHECK(apply.run.who.find('@') != std::string::npos);
  REQUIRE(apply.run.artifacts.size() == 2);
  CHECK(apply.run.artifacts[0].outcome == "done");
}

TEST_CASE("a node's claims about a run are bounded, and listed apart if most nodes disagree") {
  const auto reported = [](const std::string& node, const std::function<void(JournaledRun&)>& lie = {}) {
    NodeHistory history;
    history.node = node;
    JournaledRun run;
    run.run = "20261123T100000Z-aaaaaaaa";
    run.time = "2026-11-23T10:00:07Z";
    run.operation = "apply";
    run.changes = 2;
    if (lie) lie(run);
    history.reply.runs.push_back(run);
    return history;
  };
  // The liar is the first node of the file.
  const auto all = merged_of({reported("liar",
                                       [](JournaledRun& run) {
                                         run.time = "1970-01-01";
                                         run.outcome = RunOutcome::kRolledBack;
                                         run.undone_by = "20261123T110000Z-bbbbbbbb";
                                         run.purpose.saved_plan = "p";
                                         run.purpose.undoes = "r";
                                         run.changes = std::numeric_limits<std::int64_t>::max();
                                       }),
                              reported("n2"), reported("n3")});
  REQUIRE(all.size() == 1);
  const ClusterHistoryEntry& entry = all[0];
  CHECK(entry.run.time == "2026-11-23T10:00:00Z");
  CHECK(entry.run.outcome == RunOutcome::kApplied);
  CHECK(entry.run.undone_by.empty());
  CHECK(entry.run.purpose.saved_plan.empty());
  CHECK(entry.run.purpose.undoes.empty());
  CHECK(entry.run.changes == 4);
  REQUIRE(entry.other_claims.size() == 1);
  const OtherClaim& claim = entry.other_claims[0];
  CHECK(claim.node == "liar");
  CHECK(claim.outcome == RunOutcome::kRolledBack);
  CHECK(claim.undone_by == "20261123T110000Z-bbbbbbbb");
  CHECK(claim.saved_plan == "p");
  CHECK(claim.undoes == "r");
  CHECK(claim.changes == 1'000'000'000);
  // A liar that hides what the others report is listed as well.
  const auto undone = [](JournaledRun& run) { run.undone_by = "20261123T110000Z-bbbbbbbb"; };
  const auto hidden = merged_of({reported("liar"), reported("n2", undone), reported("n3", undone)});
  CHECK(hidden.at(0).run.undone_by == "20261123T110000Z-bbbbbbbb");
  REQUIRE(hidden[0].other_claims.size() == 1);
  CHECK(hidden[0].other_claims[0].undone_by == "");
}

TEST_CASE("without a majority a run has the worst outcome, and both claims are listed") {
  const auto reported = [](const std::string& node, RunOutcome outcome, const std::string& undone_by) {
    NodeHistory history;
    history.node = node;
    history.reply.runs.emplace_back();
    history.reply.runs.back().run = "20261123T100000Z-aaaaaaaa";
    history.reply.runs.back().outcome = outcome;
    history.reply.runs.back().undone_by = undone_by;
    return history;
  };
  const auto all = merged_of({reported("n1", RunOutcome::kApplied, ""), reported("n2", RunOutcome::kRolledBack, "r")});
  REQUIRE(all.size() == 1);
  CHECK(all[0].run.outcome == RunOutcome::kRolledBack);
  CHECK(all[0].run.undone_by.empty());
  REQUIRE(all[0].other_claims.size() == 2);
  CHECK(all[0].other_claims[0].outcome == RunOutcome::kApplied);
  CHECK(all[0].other_claims[1].undone_by == "r");
}

TEST_CASE("the time of a run is in its id, and a text that is no id has none") {
  CHECK(time_of_run("20260301T120000Z-4f9a1c07") == "2026-03-01T12:00:00Z");
  for (const auto* text : {"", "x", "20260301T120000Z", "2026\x1b[2JT120000Z-4f9a1c07", "yesterday evening, at home"}) {
    CHECK(time_of_run(text).empty());
  }
}

TEST_CASE("nodes that name different users for a run report different runs") {
  const auto told = [](const std::string& node, const std::string& who, std::int64_t changes) {
    NodeHistory history;
    history.node = node;
    JournaledRun run;
    run.run = "20261123T100000Z-aaaaaaaa";
    run.who = who;
    run.operation = "apply";
    run.changes = changes;
    history.reply.runs.push_back(run);
    return history;
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto all = merged_of({told("n1", "anna@laptop", 2), told("n2", "anna@laptop", kMost),
                              told("n3", "ceo@desk", kMost), told("n4", "ceo@desk", -kMost)});
  REQUIRE(all.size() == 2);
  CHECK(all[0].run.who == "ceo@desk");
  CHECK(all[0].nodes == std::vector<std::string>{"n3", "n4"});
  CHECK(all[1].run.who == "anna@laptop");
  CHECK(all[1].run.changes == 2);
  for (const auto& one : all) {
    CHECK(one.run.changes >= 0);
    CHECK(one.run.changes <= 1'000'000'000);
  }
}

TEST_CASE("runs that few nodes report are marked, and at most 20 of each node are listed") {
  const auto history_of = [](const std::string& node, const std::vector<std::string>& ids) {
    NodeHistory history;
    history.node = node;
    for (const auto& id : ids) {
      history.reply.runs.emplace_back();
      history.reply.runs.back().run = id;
    }
    return history;
  };
  const std::vector<std::string> real{"20260301T100000Z-a", "20260302T100000Z-a"};
  auto invented = real;
  // Each one several times: a node still counts once.
  for (int i = 100; i < 150; ++i) {
    for (int times = 0; times < 3; ++times) invented.push_back("20990101T000" + std::to_string(i) + "Z-a");
  }
  // The last node joined after the first run.
  const auto all = merged_of({history_of("n1", real), history_of("n2", invented), history_of("n3", {real.back()})});
  REQUIRE(all.size() == 2 + kMostRunsReportedByFew);
  for (std::size_t i = 0; i < kMostRunsReportedByFew; ++i) {
    CHECK(all[i].reported_by_few());
    CHECK(all[i].nodes == std::vector<std::string>{"n2"});
  }
  CHECK(all[0].run.run == "20990101T000149Z-a");
  const auto& newest = all[kMostRunsReportedByFew];
  CHECK(newest.run.run == real[1]);
  CHECK_FALSE(newest.reported_by_few());
  const auto& oldest = all[kMostRunsReportedByFew + 1];
  CHECK(oldest.run.run == real[0]);
  CHECK(oldest.could_report == 2);
  CHECK_FALSE(oldest.reported_by_few());
  // One node alone is not compared with anything.
  CHECK_FALSE(merged_of({history_of("n2", invented)}).front().reported_by_few());
}

TEST_CASE(
    "runs from before all others that one node reports are marked and limited, except those in this controller's log") {
  std::vector<std::string> invented;
  for (int i = 0; i < 250; ++i) invented.push_back("20200101T000" + std::to_string(100 + i) + "Z-a");
  NodeHistory liar;
  liar.node = "liar";
  for (const auto& id : invented) {
    liar.reply.runs.emplace_back();
    liar.reply.runs.back().run = id;
  }
  NodeHistory honest;
  honest.node = "n2";
  honest.reply.runs.emplace_back();
  honest.reply.runs.back().run = "20260301T100000Z-a";
  liar.reply.runs.push_back(honest.reply.runs.back());
  const auto all = merged_of({liar, honest}, {{invented.front(), "", ""}});
  REQUIRE(all.size() == 1 + kMostRunsReportedByFew + 1);
  CHECK_FALSE(all.front().reported_by_few());
  for (std::size_t i = 1; i <= kMostRunsReportedByFew; ++i) {
    CHECK(all[i].reported_by_one());
    CHECK(all[i].reported_by_few());
  }
  CHECK(all.back().run.run == invented.front());
  CHECK_FALSE(all.back().reported_by_few());
}

TEST_CASE("a node that was never applied has no history, and reading it leaves no trace") {
  FleetBench bench(1);
  bench.sections = kFirstRun;
  const auto cluster = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
  REQUIRE(cluster.cluster);
  const auto histories = read_histories(*cluster.cluster, bench.run, true);
  REQUIRE(histories.size() == 1);
  CHECK_FALSE(histories[0].applied);
  CHECK(bench.root(1).tree().empty());
}
}  // namespace sparkplan
