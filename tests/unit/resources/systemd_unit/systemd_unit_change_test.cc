#include "resources/systemd_unit/unit_change.h"
#include "resources/systemd_unit/unit_state.h"
#include "tests/unit/resources/systemd_unit/systemd_unit_bench.h"

namespace sparkplan::systemd_unit {
namespace {

/// `systemctl` calls that change something, in order.
Words calls(const FakeNode& node) {
  Words found;
  for (const FakeNode::Write& write : node.log()) {
    if (write.operation == "run") found.push_back(write.subject);
  }
  return found;
}

}  // namespace

TEST_CASE("units: the outcome of a start is recorded, because systemd forgets it") {
  FakeNode node = node_with({}, {});
  REQUIRE(make(unit({{"content", render(kOneshot), {}}, {"enabled", false, {}}, {"state", "started", {}}}), node));
  CHECK(node.text_of(outcome_record(kTune)) == "finished");
  node.erase("/fake/systemd/finished/tune.service");
  CHECK(value_of(seen(kTune, node)).text_or("state", "") == "finished");
  REQUIRE(make(Absent{}, node));
  CHECK_FALSE(node.text_of(outcome_record(kTune)));
}

TEST_CASE("units: a new unit is written, enabled and started without a daemon-reload") {
  FakeNode node = node_with({}, {});
  const std::string text = render(kRunning + "[Install]\nWantedBy=multi-user.target\n");
  REQUIRE(make(unit({{"content", text, {}}, {"enabled", true, {}}, {"state", "started", {}}}), node));
  CHECK(node.log().front() == FakeNode::Write{"write", kTunePath});
  CHECK(calls(node) == Words{"systemctl enable --no-reload -- tune.service", "systemctl start -- tune.service"});
  CHECK(test::is_running(node, kTune));
  CHECK(test::is_enabled(node, kTune));
}

TEST_CASE("units: a service counts as started after it has run for half a second") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  CHECK(watch_start(kTune, node) == "started");
  CHECK(node.paused() == std::chrono::milliseconds(500));
}

TEST_CASE("units: a changed text restarts a running unit, and the restart is recorded before the file changes") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  const std::string changed = render(kRunning + "Nice=1\n");
  REQUIRE(make(unit({{"content", changed, {}}, {"enabled", false, {}}, {"state", "started", {}}}), node));
  using Log = std::vector<FakeNode::Write>;
  CHECK(node.log() == Log{{"write", restart_marker(kTune)},
                          {"write", kTunePath},
                          {"run", "systemctl daemon-reload"},
                          {"run", "systemctl restart -- tune.service"},
                          {"remove", restart_marker(kTune)}});
  CHECK(test::running_text(node, kTune) == changed);
}

TEST_CASE("units: a run that ends before the restart leaves it to the next run") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  const Observation after =
      unit({{"content", render(kOneshot + "Nice=1\n"), {}}, {"enabled", false, {}}, {"state", "started", {}}});
  node.fail_write(4, Error{ErrorCode::kUnreachable, "killed", {}, {}, {}});
  REQUIRE_FALSE(make(after, node));
  CHECK(value_of(seen(kTune, node)).text_or("restart", "") == "pending");
  REQUIRE(make(after, node));
  CHECK(value_of(seen(kTune, node)).find("restart") == nullptr);
  CHECK_FALSE(node.text_of(restart_marker(kTune)));
}

TEST_CASE("units: a changed text of a stopped unit starts nothing") {
  FakeNode node = node_with("/usr/lib/systemd/system/tune.service", kRunning);
  const Observation after =
      unit({{"drop_in", render("[Service]\nNice=1\n"), {}}, {"enabled", false, {}}, {"state", "stopped", {}}});
  REQUIRE(make(after, node));
  CHECK(calls(node) == Words{"systemctl daemon-reload"});
  CHECK(node.text_of(drop_in_path(kTune)) == render("[Service]\nNice=1\n"));
}

TEST_CASE("units: a slice is never restarted, because that would stop all units in it") {
  FakeNode node = node_with("/etc/systemd/system/jobs.slice", render("[Slice]\nMemoryHigh=1G\n"));
  test::start_unit(node, "jobs.slice");
  const Observation after =
      unit({{"content", render("[Slice]\nMemoryHigh=2G\n"), {}}, {"enabled", false, {}}, {"state", "started", {}}});
  REQUIRE(apply_artifact({"unit", "jobs.slice"}, after, type(), node));
  CHECK(calls(node) == Words{"systemctl daemon-reload"});
}

TEST_CASE("units: wrong attributes are restored without a restart, and can be undone") {
  FakeNode node = node_with({}, {});
  node.add_file(kTunePath, render(kRunning), 0600, 7, 8);
  test::start_unit(node, kTune);
  const Observation before = type().read_artifact({"unit", kTune}, node);
  CHECK(value_of(before).text_or("attributes", "") == "0600 7:8");
  REQUIRE(make(unit({{"content", render(kRunning), {}}, {"enabled", false, {}}, {"state", "started", {}}}), node));
  CHECK(calls(node) == Words{"systemctl daemon-reload"});
  CHECK(node.status(kTunePath)->mode == 0644);
  REQUIRE(make(before, node));
  CHECK(node.status(kTunePath)->mode == 0600);
  CHECK(node.status(kTunePath)->uid == 7);
}

TEST_CASE("units: a unit that does not start or stay up is an error with its last messages") {
  const auto error_with = [](const std::string& program) {
    FakeNode node = node_with({}, {});
    const std::string text = render("[Service]\nExecStart=" + program + "\n");
    const Result<void> result =
        make(unit({{"content", text, {}}, {"enabled", false, {}}, {"state", "started", {}}}), node);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::kFailed);
    return result.error().message;
  };
  CHECK(error_with("/fake/fails") ==
        "systemctl start tune.service: Job for tune.service failed because the control process exited with error "
        "code.; its last messages: starting / cannot open /dev/fake");
  CHECK(error_with("/fake/dies") ==
        "tune.service does not stay up (exit-code); its last messages: starting / cannot open /dev/fake");
  CHECK(error_with("/fake/ends") == "tune.service ended right after it was started");
}

TEST_CASE("units: a service that replaces its main process counts as running") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  FakeNode handing_over = node;
  int pid = 100;
  node.set_unit_reader([&](const FakeNode&, const std::string& name) {
    test::set_unit_properties(handing_over, kTune, "MainPID=" + std::to_string(++pid) + "\n");
    return test::unit_properties(handing_over, name);
  });
  CHECK(watch_start(kTune, node) == "started");
}

TEST_CASE("units: a service restarted by hand during the check does not count as running") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  FakeNode restarting = node;
  int starts = 0;
  node.set_unit_reader([&](const FakeNode&, const std::string& name) {
    test::set_unit_properties(restarting, kTune, "InvocationID=" + std::to_string(++starts) + "\n");
    return test::unit_properties(restarting, name);
  });
  CHECK_FALSE(watch_start(kTune, node));
}

TEST_CASE("units: a service restarted by systemd during the check does not count as running") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  FakeNode restarting = node;
  int restarts = 0;
  node.set_unit_reader([&](const FakeNode&, const std::string& name) {
    test::set_unit_properties(restarting, kTune, "NRestarts=" + std::to_string(++restarts) + "\n");
    return test::unit_properties(restarting, name);
  });
  const Result<std::string> result = watch_start(kTune, node);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.starts_with("tune.service does not stay up"));
}

TEST_CASE("units: a false condition is a warning and no failure") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::set_unit_properties(node, kTune, "ConditionResult=no\nConditionTimestampMonotonic=5\n");
  CHECK(watch_start(kTune, node) == "skipped");
  const auto found = type().check_effect({{kTune, Value::map({{"state", "started"}})}}, node);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "systemd_unit.condition_not_met");
  CHECK(type().check_effect({{kTune, Value::map({{"state", "stopped"}})}}, node).empty());
}

TEST_CASE("units: a unit that stays disabled despite a successful exit status is an error") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  const Result<void> result =
      make(unit({{"content", render(kRunning), {}}, {"enabled", true, {}}, {"state", "stopped", {}}}), node);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kVerifyFailed);
  CHECK(result.error().message == "tune.service is static after it was enabled");
}

}  // namespace sparkplan::systemd_unit
