// The controller's log stops the rollback of an older run than the last one.
#include <string>
#include <utility>
#include <vector>

#include "engine/fleet/history/run_record.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/wire/messages.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;
using test::standing;

RecordedRun logged(const Report& report) {
  auto record = record_of(report, "anna@laptop", exit_of(report));
  REQUIRE(record);
  return *std::move(record);
}

/// Three nodes and the log of their controller: a run on all of them, and a newer one on one node.
class LoggedBench {
 public:
  explicit LoggedBench(const std::string& node) {
    bench.sections = "sysctl: {vm.swappiness: 10}\n";
    log.push_back(logged(bench.apply()));
    bench.sections = "sysctl: {vm.swappiness: 20}\n";
    bench.run.selection = Selection({node}, {});
    log.push_back(logged(bench.apply()));
    bench.run.selection = {};
  }

  Report undo(std::vector<std::string> nodes = {}) {
    bench.run.command = "rollback";
    bench.options.rollback = std::move(nodes);
    bench.options.allow_prune = true;
    bench.options.log = log;
    return bench.apply();
  }
  /// The node has no trace of the newer run, as if it denied it or another controller had undone it.
  void deny(std::size_t node) { bench.root(node).remove("/var/lib/sparkplan/journal/" + newer() + ".jsonl"); }
  const std::string& newer() const { return log.at(1).run; }

  FleetBench bench{3};
  std::vector<RecordedRun> log;
};

/// Passes messages on. The reply to an apply is an error in its place.
class FailingChannel final : public Channel {
 public:
  explicit FailingChannel(std::unique_ptr<Channel> agent) : agent_(std::move(agent)) {}

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    std::string bytes;
    SPARK_CHECK(agent_->read_some(bytes, patience));
    from_agent_.feed(bytes);
    const auto before = into.size();
    if (!bytes.empty() && !std::exchange(greeted_, true)) into += kPreamble;
    while (true) {
      SPARK_TRY(auto message, from_agent_.next());
      if (!message) return into.size() - before;
      const bool is_reply = apply_ != 0 && message->integer_or("id", 0) == apply_ && !progress_in(*message);
      if (is_reply) *message = encode(NumberedReply{apply_, failure(ErrorCode::kFailed, "write the manifest")});
      SPARK_TRY(const auto frame, encode_frame(*message));
      into += frame;
    }
  }
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    from_controller_.feed(bytes);
    for (auto message = from_controller_.next(); message && *message; message = from_controller_.next()) {
      const auto request = decode_request(**message);
      if (request && std::holds_alternative<ApplyRequest>(request->request)) apply_ = request->id;
    }
    return agent_->write_all(bytes, deadline);
  }
  void close_input() override { agent_->close_input(); }
  std::optional<int> exit_status() override { return agent_->exit_status(); }
  const std::string& standard_error() const override { return agent_->standard_error(); }

 private:
  std::unique_ptr<Channel> agent_;
  FrameReader from_agent_;
  FrameReader from_controller_;
  std::int64_t apply_ = 0;
  bool greeted_ = false;
};

class FailingConnection final : public Connection {
 public:
  explicit FailingConnection(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    SPARK_TRY(auto channel, connection_->start(program, elevation));
    return std::make_unique<FailingChannel>(std::move(channel));
  }
  std::string host_key() const override { return connection_->host_key(); }

 private:
  std::unique_ptr<Connection> connection_;
};

}  // namespace

TEST_CASE("a newer run that this controller's log has on its node stops the rollback of an older one on all nodes") {
  // The third node took part as well and denies it, or did not: its answer is the same.
  LoggedBench fleet("n1");
  const auto before = fleet.bench.trees();
  const auto report = fleet.undo();
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 refused, n2 refused, n3 refused");
  CHECK(report.nodes[1].error->message.ends_with("; this controller's log has the newer run " + fleet.newer() +
                                                 " on n1, which names " + fleet.newer()));
  CHECK(fleet.bench.trees() == before);
  // A log of an older version does not say whether the run changed the node.
  fleet.log[1].nodes[0].changed = false;
  CHECK(standing(fleet.undo()) == "n1 refused, n2 refused, n3 refused");
  // A node that the log does not have in that run may have invented it.
  fleet.log[1].nodes[0].name = "n2";
  CHECK(standing(fleet.undo()) == "n1 refused, n2 applied, n3 applied");
  // With names, the user decides.
  fleet.log[1].nodes[0].name = "n1";
  CHECK(standing(fleet.undo({"n1"})) == "n1 applied, n2 skipped, n3 skipped");
}

TEST_CASE("a run whose cluster one of several nodes alone names is in the log without a uuid") {
  // The node may name another uuid later. A rollback would then not find the run in the log.
  const LoggedBench fleet("n1");
  CHECK_FALSE(fleet.log[0].cluster_id.empty());
  CHECK(fleet.log[1].cluster_id.empty());
}

TEST_CASE("a run whose uuid half of its nodes or fewer name is in the log without a uuid, also with two nodes") {
  FleetBench bench(5);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  const RecordedRun first = logged(bench.apply());
  // It sorts before all others, and the vote of two nodes is a tie.
  const std::string file = "/var/lib/sparkplan/manifest.json";
  std::string manifest = bench.root(1).read(file);
  const auto at = manifest.find(first.cluster_id);
  REQUIRE(at != std::string::npos);
  bench.root(1).write(file, manifest.replace(at, first.cluster_id.size(), std::string(first.cluster_id.size(), '0')));
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.run.selection = Selection({"n1", "n2"}, {});
  const Report report = bench.apply();
  REQUIRE(standing(report) == "n1 applied, n2 applied, n3 skipped, n4 skipped, n5 skipped");
  CHECK(logged(report).cluster_id.empty());
  bench.run.selection = {};
  CHECK(logged(bench.apply()).cluster_id == first.cluster_id);
}

TEST_CASE(
    "a node that denies its last run does not cause the rollback of an older one if this controller's log has it") {
  LoggedBench fleet("n3");
  fleet.deny(3);
  const auto before = fleet.bench.trees();
  const auto report = fleet.undo();
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 refused, n2 refused, n3 refused");
  const std::string older = fleet.log[0].run;
  CHECK(report.nodes[0].error->message == "the last run is " + older +
                                              " on n[1-3]; this controller's log has the newer run " + fleet.newer() +
                                              " on n3, which names " + older);
  CHECK(report.nodes[0].error->hint.find("sparkplan rollback NODE") != std::string::npos);
  CHECK(fleet.bench.trees() == before);
}

TEST_CASE("a node that is not read stops the rollback of an older run than this controller's log has on it") {
  LoggedBench fleet("n3");
  fleet.bench.extra[2] = ", maintenance: true";
  const auto before = fleet.bench.trees();
  const auto report = fleet.undo();
  CHECK(standing(report) == "n1 refused, n2 refused, n3 skipped");
  CHECK(report.nodes[0].error->message.ends_with(" on n3, which was not read"));
  CHECK(fleet.bench.trees() == before);
}

TEST_CASE("a run that this controller has rolled back stops no later rollback") {
  LoggedBench fleet("n3");
  const auto undone = fleet.undo({"n3"});
  REQUIRE(standing(undone) == "n1 skipped, n2 skipped, n3 applied");
  fleet.log.push_back(logged(undone));
  REQUIRE(fleet.log.back().nodes.size() == 1);
  CHECK(fleet.log.back().nodes[0].undoes == fleet.newer());
  CHECK(standing(fleet.undo()) == "n1 applied, n2 applied, n3 applied");
}

TEST_CASE("a run that failed on its node stops the rollback of an older one, if it may have changed that node") {
  LoggedBench fleet("n3");
  fleet.deny(3);
  const std::string status = GENERATE("failed", "unreachable", "rolled_back");
  INFO(status);
  fleet.log[1].nodes[0].status = status;
  const auto before = fleet.bench.trees();
  CHECK(standing(fleet.undo()) == "n1 refused, n2 refused, n3 refused");
  CHECK(fleet.bench.trees() == before);
  fleet.log[1].nodes[0].changed = false;
  CHECK(standing(fleet.undo()).starts_with("n1 applied, n2 applied, "));
}

TEST_CASE("a rollback that failed on a node leaves the undone run in the log") {
  LoggedBench fleet("n3");
  auto undone = logged(fleet.undo({"n3"}));
  undone.nodes[0].status = "failed";
  fleet.log.push_back(undone);
  fleet.deny(3);
  CHECK(standing(fleet.undo()) == "n1 refused, n2 refused, n3 refused");
}

TEST_CASE("a run in this controller's log that changed nothing on its node stops no rollback") {
  LoggedBench fleet("n3");
  fleet.deny(3);
  fleet.log[1].nodes[0].changed = false;
  CHECK(standing(fleet.undo()).starts_with("n1 applied, n2 applied, "));
}

TEST_CASE("a run that its node refused before the first step is not in the log, and stops no rollback") {
  FleetBench bench(3);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.options.log.push_back(logged(bench.apply()));
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.run.selection = Selection({"n1"}, {});
  // Even root cannot write the manifest while a directory blocks its temporary file.
  const std::string obstacle = "/var/lib/sparkplan/.manifest.json.sparkplan-new";
  bench.root(1).make_directory(obstacle + "/x");
  const auto before = bench.trees();
  const auto refused = bench.apply();
  CHECK(standing(refused) == "n1 failed, n2 skipped, n3 skipped");
  CHECK(bench.trees() == before);
  const auto record = record_of(refused, "anna@laptop", exit_of(refused));
  CHECK_FALSE(record);
  if (record) bench.options.log.push_back(*record);
  bench.root(1).remove(obstacle);
  bench.run.selection = {};
  bench.run.command = "rollback";
  bench.options.rollback.emplace();
  bench.options.allow_prune = true;
  CHECK(standing(bench.apply()) == "n1 applied, n2 applied, n3 applied");
}

TEST_CASE("a run whose node answers an error after a step is in the log as one that may have changed the node") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.run.agent.connector = [](const NodeSpec& node,
                                 const ConnectOptions& options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, options));
    return std::make_unique<FailingConnection>(std::move(connection));
  };
  const auto report = bench.apply();
  CHECK(standing(report) == "n1 failed");
  CHECK(bench.root(1).read(test::kSysctlFile).find("vm.swappiness") != std::string::npos);
  CHECK(logged(report).nodes.at(0).changed);
}

}  // namespace sparkplan
