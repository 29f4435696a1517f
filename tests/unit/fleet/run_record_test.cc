// Records of runs on the controller, and the history with them.
#include "engine/fleet/history/run_record.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Names = std::vector<std::string>;

NodeReport node_with(const std::string& name, NodeStatus status, std::initializer_list<Outcome> outcomes) {
  NodeReport node;
  node.name = name;
  node.status = status;
  int number = 0;
  for (const Outcome outcome : outcomes) node.outcomes[{"sysctl", std::to_string(number++)}] = outcome;
  return node;
}

Report an_apply() {
  Report report;
  report.command = "apply";
  report.cluster = "lab";
  report.run = "20260301T120000Z-4f9a1c07";
  report.cluster_id = "u-1";
  report.nodes.push_back(node_with("n1", NodeStatus::kApplied, {Outcome::kDone, Outcome::kDone}));
  report.nodes.push_back(node_with("n2", NodeStatus::kFailed, {Outcome::kDone, Outcome::kFailed}));
  report.nodes.push_back(node_with("n3", NodeStatus::kInSync, {}));
  return report;
}

RecordedRun record(const std::string& run, const Names& nodes, const std::string& status = "applied") {
  RecordedRun one;
  one.run = run;
  one.time = "2026-03-01T12:00:00Z";
  one.cluster = "lab";
  one.cluster_id = "u-1";
  one.operation = "apply";
  one.who = "anna@laptop";
  for (const auto& node : nodes) one.nodes.push_back({node, status});
  one.changes = 5;
  return one;
}

ClusterHistoryEntry journaled(const std::string& run, const Names& nodes) {
  ClusterHistoryEntry entry;
  entry.run.run = run;
  entry.run.operation = "apply";
  entry.run.who = "anna@laptop";
  entry.run.changes = 2;
  entry.nodes = nodes;
  entry.could_report = nodes.size();
  return entry;
}

HistoryScope lab(const Names& nodes) { return {"lab", nodes, {"u-1"}}; }

}  // namespace

TEST_CASE("a record has the nodes that took part, the changes that were done, and the exit code") {
  const auto one = record_of(an_apply(), "anna@laptop", 4);
  REQUIRE(one);
  CHECK(one->run == "20260301T120000Z-4f9a1c07");
  CHECK(one->time == "2026-03-01T12:00:00Z");
  CHECK(one->cluster == "lab");
  CHECK(one->cluster_id == "u-1");
  CHECK(one->operation == "apply");
  CHECK(one->who == "anna@laptop");
  REQUIRE(one->nodes.size() == 2);
  CHECK(one->nodes[0].name == "n1");
  CHECK(one->nodes[0].status == "applied");
  CHECK(one->nodes[1].status == "failed");
  CHECK(one->changes == 3);
  CHECK(one->exit_code == 4);
}

TEST_CASE("a run that changed no node is not recorded") {
  Report plan = an_apply();
  plan.command = "plan";
  CHECK_FALSE(record_of(plan, "anna@laptop", 0));
  Report stopped = an_apply();
  stopped.not_begun = true;
  CHECK_FALSE(record_of(stopped, "anna@laptop", 6));
  Report nothing = an_apply();
  for (auto& node : nothing.nodes) node.outcomes.clear();
  CHECK_FALSE(record_of(nothing, "anna@laptop", 0));
}

TEST_CASE("a record contains no value of a resource") {
  Report report = an_apply();
  Change change;
  change.id = {"profile_env", "HF_TOKEN"};
  change.fields.push_back({"value", Value(), Value("hf_secret")});
  report.nodes[0].plan.changes.push_back(change);
  report.nodes[0].outcomes[change.id] = Outcome::kDone;
  const auto one = record_of(report, "anna@laptop", 0);
  REQUIRE(one);
  CHECK(line_of(*one).find("hf_secret") == std::string::npos);
  CHECK(line_of(*one).find("HF_TOKEN") == std::string::npos);
}

TEST_CASE("a history keeps the runs on nodes that left") {
  const auto all =
      with_records({journaled("3", {"n1"})}, {record("1", {"n1", "gone"}), record("2", {"gone"})}, lab({"n1"}));
  REQUIRE(all.size() == 3);
  CHECK(all[0].run.run == "3");
  CHECK(all[1].run.run == "2");
  CHECK(all[1].nodes.empty());
  CHECK(all[1].left_nodes == Names{"gone"});
  CHECK(all[1].run.changes == 5);
  CHECK_FALSE(all[1].reported_by_few());
  // The journal of n1 no longer has it.
  CHECK(all[2].recorded_nodes == Names{"n1"});
  CHECK(all[2].left_nodes == Names{"gone"});
}

TEST_CASE("a run that only forgot a node is recorded, and a history names that node apart") {
  Report report = an_apply();
  report.command = "release";
  report.nodes = {node_with("n1", NodeStatus::kInSync, {}), node_with("n2", NodeStatus::kForgotten, {})};
  const auto one = record_of(report, "anna@laptop", 0);
  REQUIRE(one);
  REQUIRE(one->nodes.size() == 1);
  CHECK(one->nodes[0].status == "forgotten");
  for (const Names& file : {Names{"n1"}, Names{"n1", "n2"}}) {
    const auto all = with_records({}, {*one}, lab(file));
    REQUIRE(all.size() == 1);
    CHECK(all[0].forgotten_nodes == Names{"n2"});
    CHECK(all[0].left_nodes.empty());
    CHECK(all[0].recorded_nodes.empty());
    CHECK(all[0].run.outcome == RunOutcome::kApplied);
  }
}

TEST_CASE("a record adds to a journaled run only the nodes that no journal names") {
  const auto all =
      with_records({journaled("1", {"n1"})}, {record("1", {"n1", "n2", "gone"}, "failed")}, lab({"n1", "n2"}));
  REQUIRE(all.size() == 1);
  CHECK(all[0].nodes == Names{"n1"});
  CHECK(all[0].recorded_nodes == Names{"n2"});
  CHECK(all[0].left_nodes == Names{"gone"});
  CHECK(all[0].run.changes == 2);
  CHECK(all[0].run.outcome == RunOutcome::kApplied);
}

TEST_CASE("records of another cluster, and of one with the same name, stay out of a history") {
  RecordedRun other = record("1", {"n1"});
  other.cluster = "production";
  RecordedRun namesake = record("2", {"n1"});
  namesake.cluster_id = "u-2";
  CHECK(with_records({}, {other, namesake}, lab({"n1"})).empty());
  // No node could be asked: the name decides.
  HistoryScope unknown = lab({"n1"});
  unknown.cluster_ids.clear();
  const auto all = with_records({}, {other, namesake}, unknown);
  REQUIRE(all.size() == 1);
  CHECK(all[0].run.run == "2");
}

TEST_CASE("the history of one node has the records of that node only") {
  HistoryScope scope = lab({"n1", "n2"});
  scope.includes = [](const std::string& node) { return node == "n2"; };
  const auto all = with_records({}, {record("1", {"n1"}), record("2", {"n1", "n2"})}, scope);
  REQUIRE(all.size() == 1);
  CHECK(all[0].run.run == "2");
  CHECK(all[0].recorded_nodes == Names{"n2"});
}

TEST_CASE("the outcome of a recorded run is its worst node's") {
  const auto outcome = [](const std::string& status) {
    RecordedRun one = record("1", {"n1"});
    one.nodes.push_back({"n2", status});
    return with_records({}, {one}, lab({"n1", "n2"})).at(0).run.outcome;
  };
  CHECK(outcome("applied") == RunOutcome::kApplied);
  CHECK(outcome("released") == RunOutcome::kApplied);
  CHECK(outcome("rolled_back") == RunOutcome::kRolledBack);
  CHECK(outcome("failed") == RunOutcome::kFailed);
  CHECK(outcome("unreachable") == RunOutcome::kFailed);
}

TEST_CASE("a history lists a bounded number of runs that only the log knows, the newest ones") {
  std::vector<RecordedRun> records;
  for (std::size_t i = 0; i < kMostRecordedRuns + 50; ++i) records.push_back(record(std::to_string(1000 + i), {"n1"}));
  const auto all = with_records({}, records, lab({"n1"}));
  REQUIRE(all.size() == kMostRecordedRuns);
  CHECK(all.front().run.run == records.back().run);
}

TEST_CASE("the log has a run on the nodes of its record, in its cluster") {
  const std::vector<RecordedRun> log{record("r1", {"n1", "n2"}), record("r2", {"n3"})};
  CHECK(is_recorded(log, "lab", "r1", "n2"));
  CHECK_FALSE(is_recorded(log, "lab", "r1", "n3"));
  CHECK_FALSE(is_recorded(log, "lab", "r3", "n1"));
  CHECK_FALSE(is_recorded(log, "other", "r1", "n1"));
  CHECK_FALSE(is_recorded({}, "lab", "r1", "n1"));
}

TEST_CASE("a record says on which nodes a step was done, and what a rollback undid") {
  Report report = an_apply();
  report.command = "rollback";
  report.nodes[0].may_have_changed = true;
  report.nodes[0].undoes = "r1";
  const auto one = record_of(report, "anna@laptop", 4);
  REQUIRE(one);
  const auto read = parse_record(line_of(*one));
  REQUIRE(read);
  CHECK(read->nodes[0].changed);
  CHECK(read->nodes[0].undoes == "r1");
  CHECK_FALSE(read->nodes[1].changed);
  CHECK(read->nodes[1].undoes.empty());
}

namespace {

/// A run that wrote on each node; with `undoes`, a rollback of that run.
RecordedRun written(const std::string& run, const Names& nodes, const std::optional<std::string>& undoes = {}) {
  RecordedRun one = record(run, nodes);
  if (undoes) one.operation = "rollback";
  for (RecordedNode& node : one.nodes) {
    node.changed = true;
    node.undoes = undoes.value_or("");
  }
  return one;
}

/// The run after "r1" that the log has on n1 or n2, with its node.
std::string kept_after_r1(const std::vector<RecordedRun>& log) {
  const auto found = newest_kept_run(log, lab({"n1", "n2"}), "r1");
  return found ? found->run + " on " + found->node : "";
}

}  // namespace

TEST_CASE("the newest run that the log has on a node of the cluster is found, and no older one than asked for") {
  CHECK(kept_after_r1({written("r1", {"n1", "n2"}), written("r2", {"n1"}), written("r3", {"n2"})}) == "r3 on n2");
  CHECK(kept_after_r1({written("r0", {"n1"}), written("r1", {"n1", "n2"})}).empty());
  CHECK(kept_after_r1({}).empty());
  CHECK(kept_after_r1({written("r2", {"gone"})}).empty());
  RecordedRun other = written("r2", {"n1"});
  other.cluster_id = "u-2";
  CHECK(kept_after_r1({other}).empty());
}

TEST_CASE("a run that may have changed a node is found, whether it failed there or not") {
  for (const char* status : {"applied", "failed", "unreachable", "rolled_back"}) {
    RecordedRun run = written("r2", {"n1"});
    run.nodes[0].status = status;
    CHECK(kept_after_r1({run}) == "r2 on n1");
    run.nodes[0].changed = false;  // So it is in a log of an older version, too.
    CHECK(kept_after_r1({run}).empty());
  }
}

TEST_CASE("a later rollback of a run, or of an older one, undoes it in the log, on its nodes alone") {
  const RecordedRun run = written("r2", {"n1", "n2"});
  CHECK(kept_after_r1({run, written("r3", {"n1"}, "r2")}) == "r2 on n2");
  CHECK(kept_after_r1({run, written("r3", {"n1", "n2"}, "r2")}).empty());
  // Another controller had undone r2, and the user named the nodes.
  CHECK(kept_after_r1({run, written("r3", {"n1", "n2"}, "r1")}).empty());
  // An older version does not say what it undid.
  CHECK(kept_after_r1({run, written("r3", {"n1", "n2"}, "")}).empty());
  CHECK(kept_after_r1({run, written("r3", {"n1", "n2"}), written("r4", {"n1", "n2"}, "r3")}) == "r2 on n1");
  RecordedRun failed = written("r3", {"n1", "n2"}, "r2");
  for (RecordedNode& node : failed.nodes) node.status = "failed";
  CHECK(kept_after_r1({run, failed}) == "r2 on n1");
}

TEST_CASE("a node that left has lost the runs that the log has on it") {
  CHECK(kept_after_r1({written("r2", {"n1"}), record("r3", {"n1"}, "released")}).empty());
  CHECK(kept_after_r1({written("r2", {"n1"}), record("r3", {"n1"}, "forgotten")}).empty());
}

}  // namespace sparkplan
