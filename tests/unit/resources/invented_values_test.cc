// The cost of values that a node invents: names that a text repeats, and units of megabytes. Measured in a separate
// process.
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "resources/limits/limits.h"
#include "resources/mount/mount_unit.h"
#include "resources/nccl_env/nccl_env.h"
#include "resources/profile_env/profile_env.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_text.h"
#include "resources/systemd_unit/unit_text.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

using test::cost_of;

constexpr std::size_t kLongName = 250;
constexpr long kMostTextMegabytes = 40;
constexpr long kMostUnitMegabytes = 60;

Resource resource_of(const std::string& type, const std::string& name, Value value) {
  return {{type, name}, std::move(value), {}, {}, Impact::kLive, Reversible::kExact};
}

std::string long_name(std::size_t number) {
  const std::string end = std::to_string(number);
  return "N" + std::string(kLongName - 1 - end.size(), 'x') + end;
}

/// The bytes of the text that the type would write to `path`; 0 without one.
std::size_t bytes_written(const std::vector<Resource>& resources, std::string_view path) {
  const ObservedType observed;
  const ResourceType& type = *builtin_registry().find(resources.front().id.type);
  for (const Step& step : type.steps({{resources.begin(), resources.end()}, observed, {}, {}})) {
    if (step.artifact.name == path) return content_of(step.after).value_or("").size();
  }
  return 0;
}

void check_text(const char* what, const std::vector<Resource>& resources, std::string_view path) {
  INFO(what);
  // Too large to be read back, so it is refused.
  const auto cost = cost_of([&] { return bytes_written(resources, path) == kLargestTextFile + 1; });
  std::printf("%s: %ld MB\n", what, cost.megabytes);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostTextMegabytes);
}

/// A unit that left the file, as a node reports it.
struct Orphans {
  ObservedType observed;
  std::vector<Change> changes;
  std::map<ArtifactId, Observation> originals;

  void add(const std::string& name, const std::string& content) {
    const ArtifactId artifact{"unit", name};
    observed.artifacts[artifact] =
        Present{Value::map({{"content", content}, {"enabled", false}, {"state", "stopped"}}), {}};
    originals[artifact] = Absent{};
    Change change;
    change.id = {"systemd_unit", name};
    change.action = Action::kRemove;
    change.fields = {{"content", content, {}}};
    changes.push_back(std::move(change));
  }
};

std::string repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + part.size());
  while (text.size() < bytes) text += part;
  return text;
}

}  // namespace

TEST_CASE("profile_env: names that a node repeats for thousands of users make no text above the bound of a file") {
  std::vector<Resource> variables;
  Value::Map users;
  for (std::size_t i = 0; i < 250; ++i) users.push_back({long_name(i), Value::map()});
  for (std::size_t i = 0; i < 100; ++i)
    variables.push_back(resource_of("profile_env", long_name(i), Value::map({{"secret", users}})));
  check_text("profile_env", variables, profile_env::kOwnFile);
}

TEST_CASE("profile_env: a secret of a resource without a change, in a file that the node does not list, is no step") {
  const std::vector<Resource> variables{
      resource_of("profile_env", "HF_TOKEN",
                  Value::map({{"secret", Value::map({{"nvidia", Value::map({{"value", "x"}, {"uid", 1000}})}})}}))};
  const ObservedType observed;
  const auto steps =
      builtin_registry().find("profile_env")->steps({{variables.begin(), variables.end()}, observed, {}, {}});
  REQUIRE(steps.size() == 1);
  CHECK(steps.front().artifact.name == profile_env::kOwnFile);
}

TEST_CASE("nccl_env: a name that stands in its line six times makes no text above the bound of a file") {
  std::vector<Resource> variables;
  const Value value = Value::map({{"prepended", std::string(200, '\'')}, {"profile", "a"}});
  for (std::size_t i = 0; i < 9'000; ++i) variables.push_back(resource_of("nccl_env", long_name(i), value));
  check_text("nccl_env", variables, nccl_env::kProfileFile);
  const std::string quotes(kLargestTextFile, '\'');
  variables = {resource_of("nccl_env", "LD_LIBRARY_PATH", Value::map({{"prepended", quotes}, {"profile", quotes}}))};
  check_text("nccl_env, quotes", variables, nccl_env::kProfileFile);
}

TEST_CASE("ssh_trust: names that a node repeats for each destination make no text above the bound of a file") {
  Value::List destinations;
  for (std::size_t i = 0; i < 10; ++i) destinations.push_back(long_name(i) + " 10.0.0.1");
  std::vector<Resource> users;
  for (std::size_t i = 0; i < 5'000; ++i)
    users.push_back(resource_of("ssh_trust", long_name(i), Value::map({{"config", destinations}})));
  check_text("ssh_trust", users, ssh_trust::kConfigFile);
}

TEST_CASE("ssh_trust: a destination that is longer than names of hosts is not written") {
  const std::string blanks = repeated("a ", 4'000'000);
  const auto cost = cost_of([&] { return ssh_trust::render_config({{blanks, {"nvidia"}}}).size() < 1'000; });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostTextMegabytes);
}

TEST_CASE("limits: a long domain does not widen the column of all others") {
  std::vector<Resource> limits;
  const Value value = Value::map({{"hard", "1"}, {"soft", "1"}});
  for (std::size_t i = 0; i < 9'999; ++i)
    limits.push_back(resource_of("limits", "u" + std::to_string(i) + ":nofile", value));
  limits.push_back(resource_of("limits", std::string(4'000, 'x') + ":nofile", value));
  const auto cost = cost_of([&] {
    const std::size_t bytes = bytes_written(limits, limits::kOwnFile);
    return bytes > 0 && bytes <= kLargestTextFile + 1;
  });
  std::printf("limits: %ld MB\n", cost.megabytes);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostTextMegabytes);
  CHECK(limits::render_file({{{"a", "nofile"}, {"1", "1"}}, {{std::string(65, 'x'), "core"}, {"1", {}}}})
            .find("\na" + std::string(65, ' ') + "soft  nofile  1\n") != std::string::npos);
}

TEST_CASE("units: a text of 4 MB in one of 200 units that left the file costs a plan less than five seconds") {
  Orphans orphans;
  const std::string large = systemd_unit::render(repeated("A=\n", 3'900'000));
  for (int i = 0; i < 200; ++i) {
    orphans.add("unit-" + std::to_string(i) + ".service", i < 1 ? large : systemd_unit::render("[Unit]\n"));
  }
  const ResourceType& type = *builtin_registry().find("systemd_unit");
  const auto cost = cost_of([&] {
    const StepsInput input{{}, orphans.observed, {orphans.changes.begin(), orphans.changes.end()}, orphans.originals};
    return type.steps(input).size() == orphans.changes.size();
  });
  std::printf("units: %ld MB, %.1f s\n", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 5.0);
  CHECK(cost.megabytes < kMostUnitMegabytes);
}

TEST_CASE("units: of the units in question, those that a text needs, wants, follows or triggers are found") {
  const std::set<std::string_view> units{"a.service", "b.service", "c.service", "d.target", "e.service"};
  const std::string text =
      "[Unit]\nAfter=x.service  a.service\nRequires=b.service \\\n# a comment\n  c.service\nBefore=e.service\n"
      "[Install]\nWants=e.service\n[Timer]\nUnit=d.target";
  CHECK(systemd_unit::dependencies_among(units, text) ==
        std::set<std::string_view>{"a.service", "b.service", "c.service", "d.target"});
  CHECK(systemd_unit::dependencies_among(units, "[Unit]\nAfter=a.service\\").size() == 1);
  CHECK(systemd_unit::dependencies_among(units, "").empty());
}

TEST_CASE("units: a text of millions of lines is validated without a list of them") {
  const Value section = Value::list({Value::map({{"name", "a.service"}, {"content", repeated("A=\n", 3'900'000)}})});
  const ResourceType& type = *builtin_registry().find("systemd_unit");
  const auto cost = cost_of([&] { return !type.validate(section).empty(); });  // They are in no section.
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostTextMegabytes);
}

TEST_CASE("mount: a unit with more text or options than a file can have becomes no entry, and costs little") {
  StorageMount mount;
  mount.kind = StorageKind::kTmpfs;
  mount.target = "/mnt/fast";
  mount.what = mount.type = "tmpfs";
  const auto section_with = [&](std::vector<std::string> options) {
    mount.options = std::move(options);
    return mount::section_of({{mount.target, Value::map({{"unit", mount::render_unit(mount)}})}});
  };
  CHECK(section_with({"size=1073741824", "nofail"}));
  CHECK_FALSE(section_with(std::vector<std::string>(200, "noatime")));
  const auto applied = ValuesByName{
      {mount.target, Value::map({{"unit", "[Mount]\nWhat=tmpfs\nType=tmpfs\nOptions=" + repeated("a,", 4'000'000)}})}};
  const auto cost = cost_of([&] { return !mount::section_of(applied); });
  std::printf("mount: %ld MB\n", cost.megabytes);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostTextMegabytes);
}

}  // namespace sparkplan
