#include <algorithm>

#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "resources/systemd_unit/start_watch.h"
#include "resources/systemd_unit/unit_state.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/verification.h"
#include "tests/support/catch.h"
#include "tests/support/fake_systemd.h"

namespace sparkplan::systemd_unit {
namespace {

using test::FakeNode;

const ResourceType& type() { return *builtin_registry().find("systemd_unit"); }
const std::string kTune = "tune.service";
const std::string kTunePath = "/etc/systemd/system/tune.service";
const std::string kRunning = "[Service]\nExecStart=/usr/bin/tune\n";
const std::string kOneshot = "[Service]\nType=oneshot\nExecStart=/usr/bin/tune\n";

FakeNode node_with(const std::string& path, const std::string& text) {
  FakeNode node;
  test::add_systemd(node);
  if (!path.empty()) node.add_file(path, text);
  return node;
}

Observation unit(std::initializer_list<MapEntry> fields) { return Present{Value::map(fields), {}}; }

Result<void> make(const Observation& after, FakeNode& node) {
  return apply_artifact({"unit", kTune}, after, type(), node);
}

Observation seen(const std::string& name, const FakeNode& node) {
  return type().observe({{name}}, node).resources.at(name);
}

Value value_of(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? Value() : present->value;
}

Error error_of(const Observation& observation) {
  const auto* error = std::get_if<Error>(&observation);
  return error == nullptr ? Error{} : *error;
}

std::vector<std::string> fields_of(const std::vector<FieldChange>& changes) {
  std::vector<std::string> paths;
  for (const FieldChange& change : changes) paths.push_back(change.path);
  return paths;
}

using Words = std::vector<std::string>;

/// What is left to do about `desired` on the node.
Words differences(Value desired, const FakeNode& node) {
  const Observation now = seen(kTune, node);
  const auto* present = std::get_if<Present>(&now);
  REQUIRE(present != nullptr);
  Resource resource;
  resource.desired = std::move(desired);
  resource.where = {7, 1, 2};
  return fields_of(type().diff(resource, *present));
}

/// `systemctl` calls that change something, in order.
Words calls(const FakeNode& node) {
  Words found;
  for (const FakeNode::Write& write : node.log()) {
    if (write.operation == "run") found.push_back(write.subject);
  }
  return found;
}

Words codes(const Value& one) {
  Words found;
  for (const Diagnostic& diagnostic : type().validate(Value::list({one}))) found.push_back(diagnostic.code);
  return found;
}

Value named(std::initializer_list<MapEntry> more, const char* name = "tune.service") {
  Value value = Value::map(more);
  return value.set("name", name);
}

Value state_when(const std::string& properties) {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::set_unit_properties(node, kTune, properties);
  const Value value = value_of(seen(kTune, node));
  const Value* state = value.find("state");
  return state == nullptr ? Value() : *state;
}

}  // namespace

TEST_CASE("unit text: what is rendered is ours, and parses back to what was given") {
  const std::string text = "[Unit]\nDescription=a = b\n# note\n[Service]\nExecStart=/bin/a \\\n  --b\nEnvironment=";
  const std::string file = render(text);
  CHECK(is_ours(file));
  CHECK_FALSE(is_ours(text));
  CHECK(file.ends_with("Environment=\n"));
  const std::vector<Assignment> all = parse_unit(file);
  REQUIRE(all.size() == 3);
  CHECK((all[0].section == "Unit" && all[0].key == "Description" && all[0].value == "a = b"));
  CHECK((all[1].section == "Service" && all[1].value == "/bin/a --b" && all[1].line == 7));
  CHECK((all[2].key == "Environment" && all[2].value.empty()));
}

TEST_CASE("unit names: templates and what is no name") {
  CHECK(is_template("foo@.service"));
  CHECK_FALSE(is_template("foo@bar.service"));
  CHECK_FALSE(is_template("foo.service"));
  CHECK(is_unit_name("foo@a@b.service"));
  CHECK_FALSE(is_unit_name("@foo.service"));
  CHECK_FALSE(is_unit_name("foo.b@x"));
  CHECK_FALSE(can_be_restarted("jobs.slice"));
  CHECK(can_be_restarted("tune.timer"));
}

TEST_CASE("drop-ins: a later file defeats ours by another value or a reset, not by adding to a list") {
  const std::string ours = "[Service]\nLimitMEMLOCK=infinity\nEnvironment=A=1\nExecStart=/bin/a\n";
  CHECK_FALSE(defeating(ours, "[Service]\nEnvironment=B=2\nNice=5\n"));
  CHECK_FALSE(defeating(ours, "[Service]\nLimitMEMLOCK=infinity\n"));
  CHECK_FALSE(defeating(ours, "[Socket]\nLimitMEMLOCK=1\n"));
  CHECK_FALSE(defeating(ours, "[Service]\nExecStart=\nExecStart=/bin/a\n"));
  REQUIRE(defeating(ours, "[Service]\nLimitMEMLOCK=8M\n"));
  CHECK(defeating(ours, "[Service]\nLimitMEMLOCK=8M\n")->value == "8M");
  CHECK(defeating(ours, "[Service]\n\nExecStart=\nExecStart=/bin/b\n")->value == "/bin/b");
}

TEST_CASE("units: every state of systemd's is one that can be compared") {
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

TEST_CASE("units: a oneshot that is over, and one that has failed, are what was asked for") {
  FakeNode node = node_with("/usr/lib/systemd/system/tune.service", kOneshot);
  test::start_unit(node, kTune);
  CHECK(value_of(seen(kTune, node)).text_or("state", "") == "finished");
  CHECK(differences(Value::map({{"state", "started", {}}}), node).empty());
  CHECK(differences(Value::map({{"state", "stopped", {}}}), node).empty());
  test::set_unit_properties(node, kTune, "ActiveState=failed\n");
  CHECK(differences(Value::map({{"state", "stopped", {}}}), node).empty());
  CHECK(differences(Value::map({{"state", "started", {}}}), node) == Words{"state"});
}

TEST_CASE("units: how a start has ended is remembered where systemd forgets it") {
  FakeNode node = node_with({}, {});
  REQUIRE(make(unit({{"content", render(kOneshot), {}}, {"enabled", false, {}}, {"state", "started", {}}}), node));
  CHECK(node.text_of(outcome_record(kTune)) == "finished");
  node.erase("/fake/systemd/finished/tune.service");
  CHECK(value_of(seen(kTune, node)).text_or("state", "") == "finished");
  REQUIRE(make(Absent{}, node));
  CHECK_FALSE(node.text_of(outcome_record(kTune)));
}

TEST_CASE("units: what is left to do, and what is left over, is a difference for those that are asked for") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  const Value wanted = Value::map({{"content", render(kRunning), {}}});
  CHECK(differences(wanted, node).empty());
  node.add_file(restart_marker(kTune), "");
  CHECK(differences(wanted, node) == Words{"restart"});
  CHECK(differences(Value::map({{"content", render(kRunning), {}}, {"state", "stopped", {}}}), node) == Words{"state"});
  test::set_unit_properties(node, kTune, "NeedDaemonReload=yes\n");
  CHECK(differences(wanted, node) == Words{"reload", "restart"});
  node.add_file(drop_in_path(kTune), render("[Service]\nNice=1\n"));
  node.add_file(kTunePath, render(kRunning), 0600);
  CHECK(differences(wanted, node) == Words{"content.attributes", "drop_in", "reload", "restart"});
  CHECK(differences(Value::map({{"enabled", false, {}}}), node) == Words{"content", "drop_in", "restart"});
  Resource remembered;
  remembered.desired = wanted;
  CHECK(type().diff(remembered, std::get<Present>(seen(kTune, node))).empty());
}

TEST_CASE("units: a new unit is written, read by systemd, enabled and started, in that order") {
  FakeNode node = node_with({}, {});
  const std::string text = render(kRunning + "[Install]\nWantedBy=multi-user.target\n");
  REQUIRE(make(unit({{"content", text, {}}, {"enabled", true, {}}, {"state", "started", {}}}), node));
  CHECK(node.log().front() == FakeNode::Write{"write", kTunePath});
  CHECK(calls(node) ==
        Words{"systemctl daemon-reload", "systemctl enable -- tune.service", "systemctl start -- tune.service"});
  CHECK(test::is_running(node, kTune));
  CHECK(test::is_enabled(node, kTune));
}

TEST_CASE("units: a service counts as started once it has stayed up for half a second") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  CHECK(watch_start(kTune, node) == "started");
  CHECK(node.paused() == std::chrono::milliseconds(500));
}

TEST_CASE("units: a changed text restarts what runs, and the restart is noted before the file changes") {
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

TEST_CASE("units: a run that ends before the restart leaves it to the next one") {
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

TEST_CASE("units: a text that changes under a unit that is down starts nothing") {
  FakeNode node = node_with("/usr/lib/systemd/system/tune.service", kRunning);
  const Observation after =
      unit({{"drop_in", render("[Service]\nNice=1\n"), {}}, {"enabled", false, {}}, {"state", "stopped", {}}});
  REQUIRE(make(after, node));
  CHECK(calls(node) == Words{"systemctl daemon-reload"});
  CHECK(node.text_of(drop_in_path(kTune)) == render("[Service]\nNice=1\n"));
}

TEST_CASE("units: a slice is never restarted, which would stop all that is in it") {
  FakeNode node = node_with("/etc/systemd/system/jobs.slice", render("[Slice]\nMemoryHigh=1G\n"));
  test::start_unit(node, "jobs.slice");
  const Observation after =
      unit({{"content", render("[Slice]\nMemoryHigh=2G\n"), {}}, {"enabled", false, {}}, {"state", "started", {}}});
  REQUIRE(apply_artifact({"unit", "jobs.slice"}, after, type(), node));
  CHECK(calls(node) == Words{"systemctl daemon-reload"});
}

TEST_CASE("units: wrong attributes are mended without a restart, and can be put back") {
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

TEST_CASE("units: what does not start or does not stay up is an error with its last messages") {
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
        "systemctl start -- tune.service: Job for tune.service failed because the control process exited with error "
        "code.; its last messages: starting / cannot open /dev/fake");
  CHECK(error_with("/fake/dies") ==
        "tune.service does not stay up (exit-code); its last messages: starting / cannot open /dev/fake");
  CHECK(error_with("/fake/ends") == "tune.service ended right after it was started");
}

TEST_CASE("units: a service whose main process hands over to another one stays up") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  FakeNode handing_over = node;
  int pid = 100;
  node.add_program("systemctl", [&](const FakeNode::Call& call) {
    test::set_unit_properties(handing_over, kTune, "MainPID=" + std::to_string(++pid) + "\n");
    return handing_over.query(call.argv, {});
  });
  CHECK(watch_start(kTune, node) == "started");
}

TEST_CASE("units: a service that is started anew by hand while it is watched does not stay up") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  FakeNode restarting = node;
  int starts = 0;
  node.add_program("systemctl", [&](const FakeNode::Call& call) {
    test::set_unit_properties(restarting, kTune, "InvocationID=" + std::to_string(++starts) + "\n");
    return restarting.query(call.argv, {});
  });
  CHECK_FALSE(watch_start(kTune, node));
}

TEST_CASE("units: a service that systemd restarts while it is watched does not stay up") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::start_unit(node, kTune);
  FakeNode restarting = node;
  int restarts = 0;
  node.add_program("systemctl", [&](const FakeNode::Call& call) {
    test::set_unit_properties(restarting, kTune, "NRestarts=" + std::to_string(++restarts) + "\n");
    return restarting.query(call.argv, {});
  });
  const Result<std::string> result = watch_start(kTune, node);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.starts_with("tune.service does not stay up"));
}

TEST_CASE("units: a condition that does not hold is no failure but a warning") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  test::set_unit_properties(node, kTune, "ConditionResult=no\nConditionTimestampMonotonic=5\n");
  CHECK(watch_start(kTune, node) == "skipped");
  const auto found = type().check_effect({{kTune, Value::map({{"state", "started", {}}})}}, node);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "systemd_unit.condition_not_met");
  CHECK(type().check_effect({{kTune, Value::map({{"state", "stopped", {}}})}}, node).empty());
}

TEST_CASE("units: systemd is believed, not an exit status: a unit that stays disabled is an error") {
  FakeNode node = node_with(kTunePath, render(kRunning));
  const Result<void> result =
      make(unit({{"content", render(kRunning), {}}, {"enabled", true, {}}, {"state", "stopped", {}}}), node);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kVerifyFailed);
  CHECK(result.error().message == "tune.service is static after it was enabled");
}

TEST_CASE("units: masked units, other names and links in our place are refused and named") {
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

TEST_CASE("units: a node without systemd is an error for each unit, never an absent one") {
  FakeNode node;
  CHECK(error_of(seen(kTune, node)).code == ErrorCode::kUnsupported);
  CHECK_FALSE(make(Absent{}, node));
}

TEST_CASE("units: one question to systemd answers for all units") {
  FakeNode node = node_with("/usr/lib/systemd/system/a.service", kRunning);
  node.add_file("/usr/lib/systemd/system/b.service", kRunning);
  int asked = 0;
  FakeNode plain = node;
  node.add_program("systemctl", [&asked, &plain](const FakeNode::Call& call) {
    ++asked;
    return plain.query(call.argv, {});
  });
  const ObservedType observed = type().observe({{"a.service", "b.service", "c.service"}}, node);
  CHECK(asked == 2);  // show, and is-enabled.
  CHECK(std::holds_alternative<Absent>(observed.resources.at("c.service")));
  CHECK(value_of(observed.resources.at("b.service")).text_or("state", "") == "stopped");
}

TEST_CASE("units: steps come in an order in which what is started finds what it needs") {
  FakeNode node = node_with({}, {});
  ObservedType observed =
      type().observe({{"a.service", "a.socket", "b.timer", "b.service", "c@.service", "c@1.service"}}, node);
  StepsInput input{{}, observed, {}, {}};
  const auto ask = [&](const std::string& name, std::initializer_list<MapEntry> fields) {
    Resource resource;
    resource.id = {"systemd_unit", name};
    resource.desired = Value::map(fields);
    Change change;
    change.id = resource.id;
    for (const MapEntry& field : fields) change.fields.push_back({field.key, Value(), field.value});
    input.target.push_back(std::move(resource));
    input.changes.push_back(std::move(change));
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

namespace {

/// The steps for tune.service, which is managed and was `original` before.
std::vector<Step> steps_of_managed(const FakeNode& node, const Observation& original, std::vector<Resource> target,
                                   std::initializer_list<FieldChange> fields) {
  const ObservedType observed = type().observe({{kTune}}, node);
  Change change;
  change.id = {"systemd_unit", kTune};
  change.fields = fields;
  return type().steps({std::move(target), observed, {std::move(change)}, {{{"unit", kTune}, original}}});
}

bool has_step(const std::vector<Step>& steps, const std::string& kind) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.artifact.kind == kind; });
}

}  // namespace

TEST_CASE("units: a file that somebody has made for a unit of which only the drop-in is ours is not overwritten") {
  FakeNode node = node_with("/usr/lib/systemd/system/tune.service", kRunning);
  node.add_file(drop_in_path(kTune), render("[Service]\nNice=1\n"));
  node.add_file(kTunePath, "[Service]\nExecStart=/usr/bin/mine\n");
  Resource wanted;
  wanted.id = {"systemd_unit", kTune};
  wanted.desired = Value::map({{"content", render(kRunning), {}}});
  const FieldChange written{"content", kRunning, render(kRunning)};
  const Observation original = unit({{"enabled", true, {}}, {"state", "started", {}}});
  CHECK(has_step(steps_of_managed(node, original, {wanted}, {written}), "foreign_unit_file"));
  node.add_file(kTunePath, render("[Service]\nExecStart=/usr/bin/changed\n"));
  CHECK_FALSE(has_step(steps_of_managed(node, original, {wanted}, {written}), "foreign_unit_file"));
}

TEST_CASE("units: a file that somebody has put in the place of ours stays when the unit is taken out") {
  FakeNode node = node_with(kTunePath, "[Service]\nExecStart=/usr/bin/mine\n");
  const FieldChange removed{"content", render(kRunning), Value()};
  for (const Step& step : steps_of_managed(node, Absent{}, {}, {removed})) {
    REQUIRE(apply_artifact(step.artifact, step.after, type(), node));
  }
  CHECK(node.text_of(kTunePath) == "[Service]\nExecStart=/usr/bin/mine\n");
}

TEST_CASE("units: an original file comes back with its own mode and owner") {
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

TEST_CASE("units: what carries the connection is neither stopped nor disabled, and its texts interrupt the network") {
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

TEST_CASE("units: that there is no such unit is told for those who only change it") {
  FakeNode node = node_with({}, {});
  const ObservedType observed = type().observe({{kTune}}, node);
  const auto missing = observed.artifacts.find({"missing_unit", kTune});
  REQUIRE(missing != observed.artifacts.end());
  CHECK(error_of(missing->second).message == "there is no unit tune.service");
  CHECK(error_of(missing->second).code == ErrorCode::kNotFound);
}

TEST_CASE("verify: only what is said about our own text counts, and no mere notices") {
  const Candidate own{"a.service", "[Service]\nExecStart=/x\n", false};
  const Candidate drop_in{"docker.service", "[Service]\nExecStartPre=/mine\n", true};
  const std::string output =
      "/try/a.service:3: Unknown key 'Foo' in section [Service], ignoring.\n"
      "/try/a.service:4: Standard output type syslog is obsolete, automatically updating to journal.\n"
      "a.service: Command /x is not executable: No such file or directory\n"
      "/lib/systemd/system/plymouth-start.service:19: Unit uses KillMode=none.\n"
      "/try/docker.service.d/90-sparkplan.conf:3: Failed to parse resource value, ignoring: infinty\n"
      "docker.service: Command /usr/bin/dockerd is not executable: No such file or directory\n"
      "docker.service: Command /mine is not executable: No such file or directory\n"
      "Unit docker.service has a bad unit file setting.\n";
  CHECK(findings_about(own, output, "/try") ==
        Words{"a.service:3: Unknown key 'Foo' in section [Service], ignoring.",
              "a.service: Command /x is not executable: No such file or directory"});
  CHECK(findings_about(drop_in, output, "/try") ==
        Words{"docker.service.d/90-sparkplan.conf:3: Failed to parse resource value, ignoring: infinty",
              "docker.service: Command /mine is not executable: No such file or directory"});
  const Candidate in_its_own_root{"a.service", "[Service]\nRootDirectory=/srv\nExecStart=/x\n", false};
  CHECK(findings_about(in_its_own_root, "a.service: Command /x is not executable: no\n", "/try").empty());
}

TEST_CASE("verify: a word of a notice in the name of a unit or a program excuses nothing") {
  const Candidate own{"legacy-sync.service", "[Service]\nExecStart=/opt/legacy/sync\n", false};
  const std::string output =
      "/try/legacy-sync.service:3: Unknown key 'Foo' in section [Service], ignoring.\n"
      "/try/legacy-sync.service:4: Support for option Bar= is deprecated.\n"
      "legacy-sync.service: Command /opt/legacy/sync is not executable: No such file or directory\n";
  CHECK(findings_about(own, output, "/try") ==
        Words{"legacy-sync.service:3: Unknown key 'Foo' in section [Service], ignoring.",
              "legacy-sync.service: Command /opt/legacy/sync is not executable: No such file or directory"});
}

TEST_CASE("verify: the text and the drop-in of one unit are both tried, and object together") {
  FakeNode node = node_with({}, {});
  Step step;
  step.artifact = {"unit", kTune};
  step.before = Absent{};
  const auto objections = [&](const std::string& content, const std::string& drop_in) {
    step.after = unit({{"content", render(content), {}}, {"drop_in", render(drop_in), {}}});
    return verify_candidates(std::vector<Step>{step}, node);
  };
  CHECK(objections(kRunning, "[Service]\nNice=1\n").empty());
  const std::vector<Objection> of_drop_in = objections(kRunning, "[Service]\nBogus=1\n");
  REQUIRE(of_drop_in.size() == 1);
  CHECK(of_drop_in[0].error.message.find("90-sparkplan.conf:4: Unknown key 'Bogus'") != std::string::npos);
  const std::vector<Objection> of_both = objections(kRunning + "Bogus=1\n", "[Service]\nBogus=1\n");
  REQUIRE(of_both.size() == 1);
  CHECK(of_both[0].error.message.find("tune.service:5:") != std::string::npos);
  CHECK(of_both[0].error.message.find("90-sparkplan.conf:4:") != std::string::npos);
}

TEST_CASE("verify: a node without systemd-analyze has no objection") {
  FakeNode node;
  Step step;
  step.artifact = {"unit", kTune};
  step.before = Absent{};
  step.after = unit({{"content", render("[Service]\nBogus=1\n"), {}}});
  CHECK(verify_candidates(std::vector<Step>{step}, node).empty());
  test::add_systemd(node);
  const std::vector<Objection> objections = verify_candidates(std::vector<Step>{step}, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].artifact == step.artifact);
  CHECK(objections[0].error.message ==
        "systemd-analyze verify objects: tune.service:4: Unknown key 'Bogus' in section [Service], ignoring.");
  CHECK_FALSE(node.text_of(kTunePath));
}

TEST_CASE("units: validation names what no unit can be") {
  const Value text("[Service]\nExecStart=/bin/true\n");
  CHECK(codes(named({{"content", text, {}}, {"state", "started", {}}})).empty());
  CHECK(codes(named({{"content", text, {}}, {"enabled", true, {}}})) == Words{"systemd_unit.no-install-section"});
  CHECK(codes(named({{"content", text, {}}, {"enabled", false, {}}})).empty());
  CHECK(codes(named({{"enabled", true, {}}})).empty());
  CHECK(codes(named({{"content", "\n# nothing\n", {}}})) == Words{"systemd_unit.empty"});
  CHECK(codes(named({{"drop_in", "Nice=1\n", {}}})) == Words{"systemd_unit.no-section"});
  CHECK(codes(named({{"content", text, {}}, {"state", "started", {}}}, "a@.service")) ==
        Words{"systemd_unit.template"});
  CHECK(codes(named({}, "@a.service")) == Words{"systemd_unit.name"});
  CHECK(codes(named({{"content", Value(), {}}, {"enabled", Value(), {}}})).empty());
}

}  // namespace sparkplan::systemd_unit
