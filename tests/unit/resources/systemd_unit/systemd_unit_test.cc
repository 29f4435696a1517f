#include <algorithm>
#include <list>

#include "resources/systemd_unit/unit_state.h"
#include "tests/unit/resources/systemd_unit/systemd_unit_bench.h"

namespace sparkplan::systemd_unit {
namespace {

Error error_of(const Observation& observation) {
  const auto* error = std::get_if<Error>(&observation);
  return error == nullptr ? Error{} : *error;
}

std::vector<std::string> fields_of(const std::vector<FieldChange>& changes) {
  std::vector<std::string> paths;
  for (const FieldChange& change : changes) paths.push_back(change.path);
  return paths;
}

/// The remaining differences between `desired` and the node.
Words differences(Value desired, const FakeNode& node) {
  const Observation now = seen(kTune, node);
  const auto* present = std::get_if<Present>(&now);
  REQUIRE(present != nullptr);
  Resource resource;
  resource.desired = std::move(desired);
  resource.where = {7, 1, 2};
  return fields_of(type().diff(resource, *present));
}

Value state_when(const std::string& properties) {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::set_unit_properties(node, kTune, properties);
  const Value value = value_of(seen(kTune, node));
  const Value* state = value.find("state");
  return state == nullptr ? Value() : *state;
}

/// The steps for tune.service, which is managed and was `original` before.
std::vector<Step> steps_of_managed(const FakeNode& node, const Observation& original,
                                   const std::vector<Resource>& target, std::initializer_list<FieldChange> fields) {
  const ObservedType observed = type().observe({{kTune}}, node);
  Change change;
  change.id = {"systemd_unit", kTune};
  change.fields = fields;
  return type().steps({{target.begin(), target.end()}, observed, {change}, {{{"unit", kTune}, original}}});
}

bool has_step(const std::vector<Step>& steps, const std::string& kind) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.artifact.kind == kind; });
}

}  // namespace

TEST_CASE("units: every state of systemd has a comparable value") {
  CHECK(state_when("ActiveState=active\n") == Value("started"));
  CHECK(state_when("ActiveState=reloading\n") == Value("started"));
  CHECK(state_when("ActiveState=activating\nSubState=start\n") == Value("started"));
  CHECK(state_when("ActiveState=activating\nSubState=auto-restart\n") == Value("failed"));
  CHECK(state_when("ActiveState=failed\n") == Value("failed"));
  CHECK(state_when("ActiveState=inactive\n") == Value("stopped"));
  CHECK(state_when("Type=oneshot\nExecMainExitTimestampMonotonic=5\n") == Value("finished"));
  CHECK(state_when("Type=oneshot\nRemainAfterExit=yes\nExecMainExitTimestampMonotonic=5\n") == Value("stopped"));
  CHECK(state_when("Type=oneshot\nResult=exit-code\nExecMainExitTimestampMonotonic=5\n") == Value("stopped"));
  CHECK(state_when("ConditionResult=no\nConditionTimestampMonotonic=5\n") == Value("skipped"));
  CHECK(state_when("ConditionResult=no\n") == Value("stopped"));
}

TEST_CASE("units: a finished oneshot counts as started and as stopped, and a failed unit as stopped") {
  FakeNode node = node_with("/usr/lib/systemd/system/tune.service", kOneshot);
  test::start_unit(node, kTune);
  CHECK(value_of(seen(kTune, node)).text_or("state", "") == "finished");
  CHECK(differences(Value::map({{"state", "started"}}), node).empty());
  CHECK(differences(Value::map({{"state", "stopped"}}), node).empty());
  test::set_unit_properties(node, kTune, "ActiveState=failed\n");
  CHECK(differences(Value::map({{"state", "stopped"}}), node).empty());
  CHECK(differences(Value::map({{"state", "started"}}), node) == Words{"state"});
}

TEST_CASE("units: pending restarts and leftover parts are differences of declared units only") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  const Value wanted = Value::map({{"content", render(kRunning)}});
  CHECK(differences(wanted, node).empty());
  node.add_file(restart_marker(kTune), "");
  CHECK(differences(wanted, node) == Words{"restart"});
  CHECK(differences(Value::map({{"content", render(kRunning)}, {"state", "stopped"}}), node) == Words{"state"});
  test::set_unit_properties(node, kTune, "NeedDaemonReload=yes\n");
  CHECK(differences(wanted, node) == Words{"reload", "restart"});
  node.add_file(drop_in_path(kTune), render("[Service]\nNice=1\n"));
  node.add_file(kTunePath, render(kRunning), 0600);
  CHECK(differences(wanted, node) == Words{"content.attributes", "drop_in", "reload", "restart"});
  CHECK(differences(Value::map({{"enabled", false}}), node) == Words{"content", "drop_in", "restart"});
  Resource remembered;
  remembered.desired = wanted;
  CHECK(type().diff(remembered, std::get<Present>(seen(kTune, node))).empty());
}

TEST_CASE("units: masked units, aliases and links at managed paths are refused and named") {
  FakeNode node = node_with({}, {});
  node.add_symlink(kTunePath, "/dev/null");
  CHECK(error_of(seen(kTune, node)).message == "tune.service is masked");
  CHECK(error_of(seen(kTune, node)).code == ErrorCode::kRefused);

  FakeNode other = node_with("/usr/lib/systemd/system/ssh.service", kRunning);
  test::set_unit_properties(other, "sshd.service", "Id=ssh.service\n");
  CHECK(error_of(seen("sshd.service", other)).message == "sshd.service is another name of ssh.service");

  FakeNode linked = node_with("/usr/lib/systemd/system/tune.service", kRunning);
  linked.add_symlink(drop_in_path(kTune), "/opt/mine.conf");
  CHECK(error_of(seen(kTune, linked)).code == ErrorCode::kRefused);
}

TEST_CASE("units: on a node without systemd every unit is an error, not absent") {
  FakeNode node;
  CHECK(error_of(seen(kTune, node)).code == ErrorCode::kUnsupported);
  CHECK_FALSE(make(Absent{}, node));
}

TEST_CASE("units: one query to systemd covers all units") {
  FakeNode node = node_with("/usr/lib/systemd/system/a.service", kRunning);
  node.add_file("/usr/lib/systemd/system/b.service", kRunning);
  const ObservedType observed = type().observe({{"a.service", "b.service", "c.service"}}, node);
  CHECK(node.unit_questions() == 1);
  CHECK(std::holds_alternative<Absent>(observed.resources.at("c.service")));
  CHECK(value_of(observed.resources.at("b.service")).text_or("state", "") == "stopped");
}

TEST_CASE("units: is-enabled is called only where systemd's memory and the links differ") {
  const auto enabled_after = [](const std::string& remembered, bool linked, int& asked) {
    FakeNode node = node_with(kTunePath, render(kRunning + "[Install]\nWantedBy=multi-user.target\n"));
    if (linked) test::enable_unit(node, kTune);
    test::set_unit_properties(node, kTune, "UnitFileState=" + remembered + "\n");
    FakeNode plain = node;
    asked = 0;
    node.add_program("systemctl", [&asked, &plain](const FakeNode::Call& call) {
      asked += call.argv.at(1) == "is-enabled" ? 1 : 0;
      return plain.query(call.argv, {});
    });
    return value_of(seen(kTune, node)).boolean_or("enabled", false);
  };
  int asked = 0;
  CHECK(enabled_after("enabled", true, asked));
  CHECK(asked == 0);
  CHECK_FALSE(enabled_after("enabled", false, asked));
  CHECK(asked == 1);
  CHECK(enabled_after("disabled", true, asked));
  CHECK(asked == 1);
  CHECK_FALSE(enabled_after("disabled", false, asked));
  CHECK(asked == 1);
}

TEST_CASE("units: steps are ordered so that started units find their dependencies") {
  FakeNode node = node_with({}, {});
  ObservedType observed =
      type().observe({{"a.service", "a.socket", "b.timer", "b.service", "c@.service", "c@1.service"}}, node);
  StepsInput input{{}, observed, {}, {}};
  std::list<Change> changes;
  std::list<Resource> resources;
  const auto ask = [&](const std::string& name, std::initializer_list<MapEntry> fields) {
    Resource resource;
    resource.id = {"systemd_unit", name};
    resource.desired = Value::map(fields);
    Change change;
    change.id = resource.id;
    for (const MapEntry& field : fields) change.fields.push_back({field.key, Value(), field.value});
    input.target.emplace_back(resources.emplace_back(std::move(resource)));
    input.changes.emplace_back(changes.emplace_back(std::move(change)));
  };
  ask("a.service", {{"content", render("[Unit]\nRequires=b.service\n"), {}}, {"state", "started", {}}});
  ask("a.socket", {{"content", render("[Socket]\nListenStream=1\n"), {}}, {"state", "started", {}}});
  ask("b.service", {{"content", render(kRunning), {}}, {"state", "started", {}}});
  ask("b.timer", {{"content", render("[Timer]\nOnBootSec=1\n"), {}}, {"state", "started", {}}});
  ask("c@.service", {{"content", render(kRunning), {}}});
  ask("c@1.service", {{"state", "started", {}}});
  const auto names = [&] {
    Words found;
    for (const Step& step : type().steps(input)) found.push_back(step.artifact.name);
    return found;
  };
  CHECK(names() == Words{"c@.service", "a.socket", "b.service", "a.service", "c@1.service", "b.timer"});

  for (const Step& step : type().steps(input)) observed.artifacts[step.artifact] = step.after;
  input.target.clear();
  const Words going = names();
  CHECK(std::find(going.begin(), going.end(), "a.service") < std::find(going.begin(), going.end(), "b.service"));
}

TEST_CASE("units: a foreign unit file beside a managed drop-in is not overwritten") {
  FakeNode node = node_with("/usr/lib/systemd/system/tune.service", kRunning);
  node.add_file(drop_in_path(kTune), render("[Service]\nNice=1\n"));
  node.add_file(kTunePath, "[Service]\nExecStart=/usr/bin/mine\n");
  Resource wanted;
  wanted.id = {"systemd_unit", kTune};
  wanted.desired = Value::map({{"content", render(kRunning)}});
  const FieldChange written{"content", kRunning, render(kRunning)};
  const Observation original = unit({{"enabled", true, {}}, {"state", "started", {}}});
  CHECK(has_step(steps_of_managed(node, original, {wanted}, {written}), "foreign_unit_file"));
  node.add_file(kTunePath, render("[Service]\nExecStart=/usr/bin/changed\n"));
  CHECK_FALSE(has_step(steps_of_managed(node, original, {wanted}, {written}), "foreign_unit_file"));
}

TEST_CASE("units: a foreign file that replaced the managed one stays when the unit is removed") {
  FakeNode node = node_with(kTunePath, "[Service]\nExecStart=/usr/bin/mine\n");
  const FieldChange removed{"content", render(kRunning), Value()};
  for (const Step& step : steps_of_managed(node, Absent{}, {}, {removed})) {
    REQUIRE(apply_artifact(step.artifact, step.after, type(), node));
  }
  CHECK(node.text_of(kTunePath) == "[Service]\nExecStart=/usr/bin/mine\n");
}

TEST_CASE("units: an original file is restored with its own mode and owner") {
  const std::string original_text = "[Service]\nExecStart=/usr/bin/mine\n";
  FakeNode node = node_with({}, {});
  node.add_file(kTunePath, original_text, 0640, 7, 8);
  test::start_unit(node, kTune);
  const Observation original = type().read_artifact({"unit", kTune}, node);
  node.add_file(kTunePath, render(kRunning));
  const std::vector<Step> steps = steps_of_managed(node, original, {}, {{"content", render(kRunning), Value()}});
  REQUIRE(steps.size() == 1);
  REQUIRE(apply_artifact(steps[0].artifact, steps[0].after, type(), node));
  CHECK(node.text_of(kTunePath) == original_text);
  CHECK(node.status(kTunePath)->mode == 0640);
  CHECK(node.status(kTunePath)->gid == 8);
}

TEST_CASE("units: a unit that carries the connection is never stopped or disabled, and its text is disruptive") {
  for (const char* name : {"ssh.service", "ssh.socket", "sshd.service", "systemd-networkd.service",
                           "NetworkManager.service", "dbus.service"}) {
    CHECK(codes(named({{"state", "stopped", {}}}, name)) == Words{"systemd_unit.carries-connection"});
    CHECK(codes(named({{"enabled", false, {}}}, name)) == Words{"systemd_unit.carries-connection"});
    CHECK(codes(named({{"enabled", true, {}}, {"state", "started", {}}}, name)).empty());
  }
  const Cluster cluster{"lab", "", "", "", {}};
  const Result<NodeName> node_name = NodeName::parse("spark-01");
  REQUIRE(node_name);
  const NodeSpec self{*node_name, 1, "", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  const std::map<std::string, NodeExports> exports;
  const auto impact = [&](const char* name) {
    const Value section = Value::list({named({{"drop_in", "[Service]\nNice=1\n", {}}}, name)});
    return type().desired(ClusterView{cluster, self, exports}, section, Facts{}).resources.at(0).impact;
  };
  CHECK(impact("ssh.service") == Impact::kInterruptsNetwork);
  CHECK(impact("sshd.service") == Impact::kInterruptsNetwork);
  CHECK(impact("docker.service") == Impact::kRestartsService);
}

TEST_CASE("units: a missing unit is an error for a resource that only changes it") {
  FakeNode node = node_with({}, {});
  const ObservedType observed = type().observe({{kTune}}, node);
  const auto missing = observed.artifacts.find({"missing_unit", kTune});
  REQUIRE(missing != observed.artifacts.end());
  CHECK(error_of(missing->second).message == "there is no unit tune.service");
  CHECK(error_of(missing->second).code == ErrorCode::kNotFound);
}

}  // namespace sparkplan::systemd_unit
