// Single reports that do not fit: what is removed, bounded or refused, and how the error names it.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/resource/registry.h"
#include "engine/resource/reported.h"
#include "tests/support/catch.h"

namespace sparkplan::test {

TEST_CASE("unrequested parts of a report are removed", "[reported]") {
  const Observation there = Present{Value::map({{"persistent", "1"}, {"running", "1"}}), {}};
  ObservedState observed;
  observed.types["sysctl"].resources = {{"vm.swappiness", there}, {"vm.never-asked", there}};
  observed.types["sysctl"].foreign = {{{"sysctl", "vm.swappiness"}, "persistent", "7", "a:1", "wins"},
                                      {{"sysctl", "vm.never-asked"}, "persistent", "7", "a:2", "wins"},
                                      {{"hosts", "vm.swappiness"}, "address", "7", "a:3", "wins"}};
  observed.types["hosts"].resources = {{"spark-01-fabric", there}};
  observed.types["no-such-type"].resources = {{"x", there}};
  const std::map<std::string, std::vector<std::string>> asked{{"sysctl", {"vm.swappiness"}}, {"no-such-type", {"x"}}};
  REQUIRE(check_observed(asked, builtin_registry(), observed));
  REQUIRE(observed.types.size() == 1);
  CHECK(observed.types.at("sysctl").resources.size() == 1);
  REQUIRE(observed.types.at("sysctl").foreign.size() == 1);
  CHECK(observed.types.at("sysctl").foreign.at(0).source == "a:1");
}

TEST_CASE("a claim that a node repeats counts once", "[reported]") {
  const ForeignClaim claim{{"sysctl", "vm.swappiness"}, "persistent", "7", "a:1", "wins"};
  ForeignClaim other_value = claim;
  other_value.value = "8";
  ForeignClaim other_source = claim;
  other_source.source = "a:2";
  ObservedState observed;
  observed.types["sysctl"].foreign = {claim, other_value, claim, other_source, claim, claim};
  REQUIRE(check_observed({{"sysctl", {"vm.swappiness"}}}, builtin_registry(), observed));
  const auto& left = observed.types.at("sysctl").foreign;
  REQUIRE(left.size() == 3);
  CHECK(left[0].value == claim.value);
  CHECK(left[1].value == other_value.value);
  CHECK(left[2].source == other_source.source);
}

TEST_CASE("of thousands of claims on a resource the first twenty are kept, and those on others", "[reported]") {
  ObservedState observed;
  auto& claims = observed.types["sysctl"].foreign;
  for (int i = 0; i < 2000; ++i) {
    claims.push_back({{"sysctl", "vm.swappiness"}, "persistent", "7", "a:" + std::to_string(i), "wins"});
  }
  claims.push_back({{"sysctl", "vm.dirty_ratio"}, "persistent", "7", "a:1", "wins"});
  REQUIRE(check_observed({{"sysctl", {"vm.swappiness", "vm.dirty_ratio"}}}, builtin_registry(), observed));
  const auto& left = observed.types.at("sysctl").foreign;
  REQUIRE(left.size() == 21);
  CHECK(left.back().id.name == "vm.dirty_ratio");
}

TEST_CASE("an observation of another shape is refused with its path", "[reported]") {
  const auto refused = [](const std::string& type, const std::string& name, Value value) {
    ObservedState observed;
    observed.types[type].resources[name] = Present{std::move(value), {}};
    const auto checked = check_observed({{type, {name}}}, builtin_registry(), observed);
    return checked ? "" : checked.error().describe();
  };
  CHECK(refused("sysctl", "net.core.somaxconn", Value::map({{"running", Value::list()}})) ==
        "observed sysctl net.core.somaxconn: running: expected text, found list");
  CHECK(refused("sysctl", "vm.swappiness", "60") == "observed sysctl vm.swappiness: expected map, found text");
  CHECK(refused("netplan", "enp1s0", Value::map({{"mtu", std::int64_t{1} << 40}})) ==
        "observed netplan enp1s0: mtu: out of range: 1099511627776");
  CHECK(refused("package", "nvme-cli", Value::map({{"needs", Value::list({7})}})) ==
        "observed package nvme-cli: needs: 0: expected text, found integer");
}

TEST_CASE("an artifact must be a file, a block or a kind of the reporting type", "[reported]") {
  const auto refused = [](const std::string& type, const ArtifactId& id, Value value) {
    const auto checked = check_artifact(id, Present{std::move(value), {}}, *builtin_registry().find(type));
    return checked ? "" : checked.error().describe();
  };
  const Value file = Value::map({{"content", "x"}, {"mode", "0644"}, {"uid", 0}, {"gid", 0}});
  CHECK(refused("sysctl", {"file", "/etc/sysctl.d/90-sparkplan.conf"}, file).empty());
  CHECK(refused("sysctl", {"kernel_parameter", "vm/swappiness"}, Value::map({{"value", "1"}})).empty());
  CHECK(refused("sysctl", {"ssh_key", "~nvidia/.ssh/id"}, Value::map()) ==
        "artifact ssh_key:~nvidia/.ssh/id of sysctl: no artifact of this type");
  CHECK(refused("sysctl", {"file", "/etc/x"}, Value::map({{"content", 1}})) ==
        "artifact file:/etc/x of sysctl: content: expected text, found integer");
  CHECK(refused("sysctl", {"file", "/etc/a\nb"}, file).find("control character") != std::string::npos);
}

TEST_CASE("the number of a node's reported resources per type is limited", "[reported]") {
  ObservedState observed;
  auto& artifacts = observed.types["sysctl"].artifacts;
  const std::size_t most = builtin_registry().find("sysctl")->info().reported.most;
  for (std::size_t i = 0; i <= most; ++i) artifacts[{"kernel_parameter", std::to_string(i)}] = Absent{};
  const auto checked = check_observed({{"sysctl", {}}}, builtin_registry(), observed);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().describe() == "sysctl: 10001 artifacts, more than the limit of 10000");
}

TEST_CASE("values and originals in a manifest must match the shapes of their types", "[reported]") {
  const auto refused = [](const Manifest& manifest) {
    const auto checked = check_manifest(manifest, builtin_registry());
    return checked ? "" : checked.error().describe();
  };
  Manifest manifest;
  manifest.resources[{"sysctl", "vm.swappiness"}].last_applied = Value::map({{"running", 1}});
  CHECK(refused(manifest) == "last applied sysctl/vm.swappiness: running: expected text, found integer");
  manifest.resources.clear();
  manifest.artifacts[{"kernel_parameter", "vm/swappiness"}] = {"sysctl", "", Present{Value::map(), {}}};
  CHECK(refused(manifest) ==
        "original from before sparkplan: artifact kernel_parameter:vm/swappiness of sysctl: value: missing");
  manifest.artifacts.clear();
  manifest.artifacts[{"of_a_newer_type", "x"}] = {"of_a_newer_type", "", Present{Value::map({{"a", 1}}), {}}};
  CHECK(refused(manifest).empty());
  manifest.artifacts[{"of_a_newer_type", "x"}] = {"of_a_newer_type", "", Present{Value(Value::Unknown{"x", "y"}), {}}};
  CHECK(refused(manifest) == "original from before sparkplan: expected a known value, found unknown");
}

TEST_CASE("a name or user that a text repeats has 256 bytes at most, and a path keeps its own limit", "[reported]") {
  const auto fits = [](const std::string& type, std::size_t bytes, Value value) {
    Manifest manifest;
    manifest.resources[{type, std::string(bytes, 'a')}].last_applied = std::move(value);
    return check_manifest(manifest, builtin_registry()).has_value();
  };
  for (const char* type : {"profile_env", "nccl_env", "ssh_trust", "limits", "users", "hosts", "kernel_module"}) {
    INFO(type);
    CHECK(fits(type, kLongestWordName, Value::map()));
    CHECK_FALSE(fits(type, kLongestWordName + 1, Value::map()));
  }
  CHECK(fits("file", 4000, Value::map()));
  CHECK(fits("mount", 4000, Value::map()));
  const auto with_user = [](std::size_t bytes) {
    return Value::map({{"secret", Value::map({{std::string(bytes, 'u'), Value::map()}})}});
  };
  CHECK(fits("profile_env", 1, with_user(kLongestWordName)));
  CHECK_FALSE(fits("profile_env", 1, with_user(kLongestWordName + 1)));

  Step step;
  step.type = "profile_env";
  step.artifact = {"file", "/etc/profile.d/sparkplan-env.sh"};
  step.before = step.after = Absent{};
  step.resources = {{"profile_env", std::string(kLongestWordName + 1, 'a')}};
  CHECK_FALSE(check_steps(std::vector<Step>{step}, builtin_registry()));
}

TEST_CASE("unrequested exports and reserved keys are removed", "[reported]") {
  NodeExports exports{{"mount", Value::map({{"writes", Value::list()}, {std::string(kOutdatedExport), true}})},
                      {"nvme_tcp", Value::map({{"hostid", 7}})},
                      {"sysctl", Value::map()}};
  NodeExports asked_of_mount = exports;
  REQUIRE(check_exports({"mount", "sysctl"}, builtin_registry(), asked_of_mount));
  REQUIRE(asked_of_mount.size() == 1);
  CHECK(asked_of_mount.at("mount").find(kOutdatedExport) == nullptr);
  const auto refused = check_exports({"mount", "nvme_tcp"}, builtin_registry(), exports);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().describe() == "exported nvme_tcp: hostid: expected text, found integer");
}

TEST_CASE("steps of a journal must belong to types of this build and to their own resources", "[reported]") {
  Step step;
  step.type = "sysctl";
  step.artifact = {"kernel_parameter", "vm/swappiness"};
  step.before = step.after = Present{Value::map({{"value", "1"}}), {}};
  step.resources = {{"sysctl", "vm.swappiness"}};
  const auto refused = [](const Step& one) {
    const std::vector<Step> steps{one};
    const auto checked = check_steps(steps, builtin_registry());
    return checked ? "" : checked.error().describe();
  };
  CHECK(refused(step).empty());
  Step other = step;
  other.resources = {{"ssh_trust", "root"}};
  CHECK(refused(other) == "a step for a resource of another type: ssh_trust/root");
  other = step;
  other.type = "no-such-type";
  CHECK(refused(other) == "this build has no resource type no-such-type");
  other = step;
  other.after = Present{Value::map({{"value", Value::Unknown{"x", "y"}}}), {}};
  CHECK(refused(other) == "artifact kernel_parameter:vm/swappiness of sysctl: value: expected text, found unknown");
}

}  // namespace sparkplan::test
