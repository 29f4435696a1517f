#include <cerrno>
#include <random>

#include "engine/model/cluster.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "tests/support/catch.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

Error some_error() {
  return {ErrorCode::kPermissionDenied, "read /etc/shadow", {"node spark-01", "files"}, EACCES, "run with sudo"};
}

std::vector<Observation> every_observation() {
  return {Absent{},
          Present{Value::map({{"running", "1"}}), {{"persistent", "an image has no kernel"}}},
          Present{"\xff\xfe", {}},
          Present{Value(), {}},
          NotApplicable{"an image root has no links"},
          some_error()};
}

Manifest some_manifest() {
  Manifest manifest;
  manifest.node = "spark-01";
  manifest.roster = {"lab",
                     "uuid-1",
                     3,
                     {{"spark-01", 1, "10.0.0.11", "nvidia", 22, "SHA256:x", "4f9a", "bastion", "sudo", "", false},
                      {"spark-02", 2, "fd00::2", "root", 65535, "", "", "", "none", "/srv/image", true}}};
  manifest.resources[{"sysctl", "net.core.rmem_max"}] = {
      Value::map({{"value", "268435456"}}),
      {{"file", "/etc/sysctl.d/90-sparkplan.conf"}, {"sysctl", "net.core.rmem_max"}}};
  manifest.artifacts[{"file", "/etc/sysctl.d/90-sparkplan.conf"}] = {"sysctl", std::string(64, 'a'), Absent{}};
  manifest.artifacts[{"sysctl", "net.core.rmem_max"}] = {"sysctl", "", Present{"212992", {}}};
  manifest.last_run = "20250101T000000Z-1";
  manifest.last_run_time = "2025-01-01T00:00:00Z";
  return manifest;
}

Step some_step() {
  Step step;
  step.type = "sysctl";
  step.artifact = {"file", "/etc/sysctl.d/90-sparkplan.conf"};
  step.phase = Phase::kKernelParameters;
  step.before = Present{"old", {}};
  step.after = Present{Value::map({{"content", Value::Unknown{"later", "spark-02/ssh_trust/nvidia"}}}), {}};
  step.resources = {{"sysctl", "a"}, {"sysctl", "b/c"}};
  step.group = "sysctl";
  return step;
}

TEST_CASE("A cluster finds its nodes by name") {
  Cluster cluster;
  for (const auto* name : {"spark-01", "spark-02"}) {
    cluster.nodes.push_back({*NodeName::parse(name), 1, "", {}, TransportKind::kSsh, {}, false, {}, {}, {}});
  }
  REQUIRE(cluster.find(*NodeName::parse("spark-02")) != nullptr);
  CHECK(cluster.find(*NodeName::parse("spark-02")) == &cluster.nodes[1]);
  CHECK(cluster.find(*NodeName::parse("spark-03")) == nullptr);
}

TEST_CASE("Impacts, reversibilities and phases are restored from their names") {
  for (const auto impact : {Impact::kLive, Impact::kNeedsRelogin, Impact::kRestartsService, Impact::kInterruptsNetwork,
                            Impact::kNeedsReboot}) {
    CHECK(value_named<Impact>(to_string(impact)) == impact);
  }
  for (const auto reversible : {Reversible::kExact, Reversible::kBestEffort, Reversible::kNo}) {
    CHECK(value_named<Reversible>(to_string(reversible)) == reversible);
  }
  for (int i = 0; i <= static_cast<int>(Phase::kNetwork); ++i) {
    CHECK(value_named<Phase>(to_string(static_cast<Phase>(i))) == static_cast<Phase>(i));
  }
  CHECK_FALSE(value_named<Impact>("kLive"));
  CHECK_FALSE(value_named<Reversible>("maybe"));
  CHECK_FALSE(value_named<Phase>(""));
}

TEST_CASE("The model's words match those promised in reports") {
  CHECK(to_string(Impact::kInterruptsNetwork) == "interrupts-network");
  CHECK(to_string(Reversible::kBestEffort) == "best_effort");
  CHECK(to_string(Action::kCreate) == "create");
  CHECK(to_string(Action::kUpdate) == "update");
  CHECK(to_string(Action::kRemove) == "remove");
  CHECK(to_string(Origin::kConfig) == "config");
  CHECK(to_string(Origin::kDrift) == "drift");
  CHECK(to_string(Origin::kForeign) == "foreign");
  CHECK(to_string(Phase::kUsersAndKeys) == "users_and_keys");
}

TEST_CASE("Every kind of observation survives the wire") {
  for (const auto& observation : every_observation()) {
    const auto back = decode<Observation>(over_the_wire(encode(observation)));
    REQUIRE(back);
    CHECK(back->index() == observation.index());
    CHECK(canonical(*back) == canonical(observation));
  }
}

TEST_CASE("Present with a null differs from Absent") {
  const auto back = decode<Observation>(over_the_wire(encode(Observation(Present{Value(), {}}))));
  REQUIRE(back);
  REQUIRE(std::holds_alternative<Present>(*back));
  CHECK(std::get<Present>(*back).value.is_null());
}

TEST_CASE("An observation with an unknown or incomplete state is refused") {
  check_refused(decode<Observation>(Value::map()), "state: missing");
  check_refused(decode<Observation>(Value::map({{"state", "gone"}})), "state: no such state: \"gone\"");
  check_refused(decode<Observation>(Value::map({{"state", "present"}})), "value: missing");
  check_refused(decode<Observation>(Value::map({{"state", "error"}})), "error: missing");
  check_refused(decode<Observation>(Value::map({{"state", 1}})), "state: expected text, found integer");
}

TEST_CASE("An error survives the wire with every field") {
  const auto back = decode<Error>(over_the_wire(encode(some_error())));
  REQUIRE(back);
  CHECK(*back == some_error());
}

TEST_CASE("An error without errno stays without it") {
  const Error plain{ErrorCode::kRefused, "no", {}, std::nullopt, {}};
  const auto back = decode<Error>(over_the_wire(encode(plain)));
  REQUIRE(back);
  CHECK(*back == plain);
}

TEST_CASE("A bug reported by another program is a failure") {
  const auto back = decode<Error>(encode(Error{ErrorCode::kBug, "no such state", {}, std::nullopt, {}}));
  REQUIRE(back);
  CHECK(back->code == ErrorCode::kFailed);
}

TEST_CASE("An error code of a newer version is a failure") {
  const auto back = decode<Error>(Value::map({{"code", "overheated"}, {"message", "too hot"}}));
  REQUIRE(back);
  CHECK(back->code == ErrorCode::kFailed);
  CHECK(back->message == "too hot");
}

TEST_CASE("An error without a message is refused") {
  check_refused(decode<Error>(Value::map({{"code", "busy"}})), "message: missing");
}

TEST_CASE("An observed state survives the wire with resources, artifacts and foreign claims") {
  ObservedState state;
  ObservedType& type = state.types["sysctl"];
  int count = 0;
  for (const auto& observation : every_observation()) {
    type.resources["r" + std::to_string(count)] = observation;
    type.artifacts[{"file", "/etc/" + std::to_string(count++)}] = observation;
  }
  type.resources["name with \xff and $"] = Absent{};
  type.foreign.push_back(
      {{"sysctl", "net.core.somaxconn"}, "persistent", "128", "/etc/sysctl.d/99-tuning.conf:3", "sets it to 128"});
  type.foreign.push_back({{"sysctl", "a"}, "", {}, "/etc/a", "says it twice", true});
  state.types["empty"] = {};
  const auto back = decode<ObservedState>(over_the_wire(encode(state)));
  REQUIRE(back);
  CHECK(canonical(*back) == canonical(state));
  CHECK(back->types.at("sysctl").resources.size() == type.resources.size());
  CHECK(back->types.at("sysctl").artifacts.contains({"file", "/etc/3"}));
  CHECK(back->types.at("sysctl").foreign.at(0).id == ResourceId{"sysctl", "net.core.somaxconn"});
  CHECK_FALSE(back->types.at("sysctl").foreign.at(0).harmless);
  CHECK(back->types.at("sysctl").foreign.at(1).harmless);
  CHECK(back->types.contains("empty"));
}

TEST_CASE("A bad id in an observed state is refused with its path") {
  const Value value = Value::map(
      {{"types", Value::map({{"sysctl", Value::map({{"artifacts",
                                                     Value::map({{"nocolon", encode(Observation(Absent{}))}})}})}})}});
  const auto back = decode<ObservedState>(value);
  REQUIRE_FALSE(back);
  CHECK(back.error().code == ErrorCode::kInvalidInput);
  CHECK(back.error().context == std::vector<std::string>{"types", "sysctl", "artifacts"});
}

TEST_CASE("A manifest is restored from its file with every field") {
  const auto back = decode_manifest(over_the_wire(encode(some_manifest())));
  REQUIRE(back);
  CHECK(canonical(*back) == canonical(some_manifest()));
  CHECK(back->roster == some_manifest().roster);
  CHECK(back->artifacts.at({"sysctl", "net.core.rmem_max"}).original.index() == 1);
  CHECK(back->resources.begin()->second.artifacts.size() == 2);
}

TEST_CASE("A manifest contains its format, and a newer format is refused as unsupported") {
  Value value = encode(some_manifest());
  CHECK(value.integer_or("format_version", 0) == kManifestFormatVersion);
  value.set("format_version", kManifestFormatVersion + 1);
  const auto back = decode_manifest(value);
  REQUIRE_FALSE(back);
  CHECK(back.error().code == ErrorCode::kUnsupported);
  CHECK(back.error().message.find("format 2") != std::string::npos);
}

TEST_CASE("A newer manifest is unsupported even if all other fields are unreadable") {
  const auto back = decode_manifest(Value::map({{"format_version", 99}, {"roster", "elsewhere"}}));
  REQUIRE_FALSE(back);
  CHECK(back.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("the run and the time of a manifest are bounded") {
  for (const char* key : {"last_run", "last_run_time"}) {
    INFO(key);
    CHECK(decode_manifest(encode(some_manifest()).set(key, std::string(kLongestShortText, 'a'))));
    CHECK_FALSE(decode_manifest(encode(some_manifest()).set(key, std::string(kLongestShortText + 1, 'a'))));
  }
}

TEST_CASE("A manifest without a valid format is refused") {
  for (const Value& version : {Value(), Value("1"), Value(0), Value(-1), Value(1.0)}) {
    const auto back = decode_manifest(encode(some_manifest()).set("format_version", version));
    REQUIRE_FALSE(back);
    CHECK(back.error().code == ErrorCode::kInvalidInput);
  }
  CHECK_FALSE(decode_manifest(Value::map()));
  CHECK_FALSE(decode_manifest(Value()));
}

TEST_CASE("A manifest without a valid original is refused") {
  Value value = encode(some_manifest());
  Value* artifacts = value.find("artifacts");
  REQUIRE(artifacts != nullptr);
  Value& artifact = artifacts->entries()->front().value;
  SECTION("a missing original is refused") {
    artifact.erase("original");
    check_refused(decode_manifest(value),
                  "manifest: artifacts: file:/etc/sysctl.d/90-sparkplan.conf: original: missing");
  }
  SECTION("an error is not an original") {
    artifact.set("original", encode(Observation(some_error())));
    check_refused(decode_manifest(value),
                  "manifest: artifacts: file:/etc/sysctl.d/90-sparkplan.conf: original: an error is not an original");
  }
}

TEST_CASE("A roster survives the wire") {
  const auto back = decode<Roster>(over_the_wire(encode(some_manifest().roster)));
  REQUIRE(back);
  CHECK(*back == some_manifest().roster);
  CHECK(*decode<Roster>(encode(Roster{})) == Roster{});
}

TEST_CASE("A port outside 16 bits is refused") {
  for (const std::int64_t port : {std::int64_t{-1}, std::int64_t{65536}}) {
    Value value = encode(some_manifest().roster);
    item(value, "members", 0).set("port", port);
    check_refused(decode<Roster>(value), "members: 0: port: out of range: " + std::to_string(port));
  }
}

TEST_CASE("A step survives the wire with every field") {
  const auto back = decode<Step>(over_the_wire(encode(some_step())));
  REQUIRE(back);
  CHECK(canonical(*back) == canonical(some_step()));
  CHECK(back->phase == Phase::kKernelParameters);
  CHECK(back->resources == some_step().resources);
  CHECK(std::get<Present>(back->after).value.contains_unknown());
}

TEST_CASE("A step that cannot be executed is refused") {
  Value value = encode(some_step());
  const Value error = encode(Observation(some_error()));
  const Value not_applicable = encode(Observation(NotApplicable{"x"}));
  SECTION("an unknown phase") {
    check_refused(decode<Step>(value.set("phase", "soon")), "phase: no such phase: \"soon\"");
  }
  SECTION("an error before") {
    check_refused(decode<Step>(value.set("before", error)), "before: an error is not a state to start from");
  }
  SECTION("an error after") {
    check_refused(decode<Step>(value.set("after", error)), "after: expected absent or present");
  }
  SECTION("an unknown value after") {
    check_refused(decode<Step>(value.set("after", not_applicable)), "after: expected absent or present");
  }
  SECTION("a bad artifact") { CHECK_FALSE(decode<Step>(value.set("artifact", "nocolon"))); }
  SECTION("a bad resource") { CHECK_FALSE(decode<Step>(value.set("resources", Value::list({"noslash"})))); }
  for (const auto* field : {"type", "artifact", "phase", "before", "after"}) {
    SECTION(std::string("without ") + field) {
      value.erase(field);
      check_refused(decode<Step>(value), std::string(field) + ": missing");
    }
  }
}

TEST_CASE("Decoding any damaged message returns a value or an error") {
  std::mt19937 engine(5);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Value manifest = encode(some_manifest());
    Value step = encode(some_step());
    for (Value* value : {&manifest, &step}) corrupt(*value, engine);
    const auto read_manifest = decode_manifest(manifest);
    const auto read_step = decode<Step>(step);
    refused += (read_manifest ? 0 : 1) + (read_step ? 0 : 1);
    // Accepted input must be stable: writing and reading it again changes nothing.
    if (read_manifest) REQUIRE(canonical(*decode_manifest(encode(*read_manifest))) == canonical(*read_manifest));
    if (read_step) REQUIRE(canonical(*decode<Step>(encode(*read_step))) == canonical(*read_step));
  }
  CHECK(refused > 500);
}

}  // namespace
}  // namespace sparkplan
