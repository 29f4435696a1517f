#include <random>

#include "engine/core/json.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::Bench;
using testing::key;
using testing::knob;
using testing::link;

constexpr unsigned kSeed = 20260801;
constexpr int kRuns = 150;
constexpr int kRoundsPerRun = 5;

const std::vector<std::string> kNames = {"a", "b", "c", "d", "e"};

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(engine_); }
  bool one_in(int odds) { return below(odds) == 0; }

 private:
  std::mt19937 engine_;
};

std::vector<Resource> random_desired(Chance& chance) {
  std::vector<Resource> desired;
  for (const std::string& name : kNames) {
    if (chance.one_in(2)) desired.push_back(knob(name, chance.below(4)));
    if (chance.one_in(3)) desired.push_back(link(name, 1500 + chance.below(3)));
    if (chance.one_in(4)) desired.push_back(key(name));
  }
  // Only references to earlier names, so that there is no cycle.
  for (std::size_t i = 1; i < desired.size(); ++i)
    if (chance.one_in(4))
      desired[i].after.push_back(desired[static_cast<std::size_t>(chance.below(static_cast<int>(i)))].id);
  return desired;
}

/// Changes the machine without sparkplan, as a user might.
void tamper(Chance& chance, testing::Machine& machine) {
  for (const std::string& name : kNames) {
    if (chance.one_in(5)) machine.running[name] = chance.below(5);
    if (chance.one_in(6)) machine.links[name] = std::to_string(1500 + chance.below(3));
    if (chance.one_in(8)) machine.links.erase(name);
    if (chance.one_in(8)) machine.keys.erase("key/" + name);
  }
  if (chance.one_in(4) && machine.file) *machine.file += "# by hand\n";
  if (chance.one_in(5)) machine.file = testing::knob_file({{"a", chance.below(4)}, {"c", chance.below(4)}});
  if (chance.one_in(8)) machine.file.reset();
}

std::string everything_of(const NodePlan& plan) {
  Report report;
  report.nodes.emplace_back();
  report.nodes[0].plan = plan;
  std::string text = canonical_json(to_json_value(report));
  for (const Step& step : plan.steps) text += canonical_json(encode(step));
  for (const auto& [id, value] : plan.resulting) text += id.str() + canonical_json(value);
  for (const auto& [id, value] : plan.after_steps) text += id.str() + canonical_json(value);
  return text;
}

TEST_CASE("equal input gives equal plans, and an applied plan leaves nothing to plan") {
  for (int run = 0; run < kRuns; ++run) {
    Chance chance(kSeed + static_cast<unsigned>(run));
    Bench bench;
    for (const std::string& name : kNames) bench.machine.running[name] = chance.below(5);
    for (int round = 0; round < kRoundsPerRun; ++round) {
      INFO("run " << run << ", round " << round);
      bench.desired = random_desired(chance);
      tamper(chance, bench.machine);
      REQUIRE(everything_of(bench.plan()) == everything_of(bench.plan()));
      const NodePlan plan = bench.apply();
      REQUIRE(plan.blocked.empty());
      const NodePlan again = bench.plan();
      INFO(everything_of(again));
      REQUIRE(again.changes.empty());
      REQUIRE(again.steps.empty());
      REQUIRE(again.resulting == bench.plan().resulting);
    }
  }
}

TEST_CASE("the order of resources in the file has no effect") {
  for (int run = 0; run < kRuns; ++run) {
    Chance chance(kSeed + static_cast<unsigned>(run));
    Bench bench;
    for (const std::string& name : kNames) bench.machine.running[name] = chance.below(5);
    bench.desired = random_desired(chance);
    const std::string plan = everything_of(bench.plan());
    std::reverse(bench.desired.begin(), bench.desired.end());
    REQUIRE(everything_of(bench.plan()) == plan);
  }
}

TEST_CASE("excluded and unreadable resources are never written") {
  for (int run = 0; run < kRuns; ++run) {
    INFO("run " << run);
    Chance chance(kSeed + static_cast<unsigned>(run));
    Bench bench;
    for (const std::string& name : kNames) bench.machine.running[name] = chance.below(5);
    bench.desired = random_desired(chance);
    bench.apply();
    bench.desired = random_desired(chance);
    tamper(chance, bench.machine);
    const std::string left_out = kNames[static_cast<std::size_t>(chance.below(5))];
    const std::string unreadable = kNames[static_cast<std::size_t>(chance.below(5))];
    bench.selected = [&](const ResourceId& id) { return id.name != left_out; };
    bench.distort = [&](ObservedState& state) {
      for (auto& [type, seen] : state.types)
        if (const auto found = seen.resources.find(unreadable); found != seen.resources.end())
          found->second = Error{ErrorCode::kPermissionDenied, "read", {}, {}, {}};
    };
    const NodePlan plan = bench.plan();
    for (const Step& step : plan.steps) {
      REQUIRE_FALSE(std::holds_alternative<Error>(step.before));
      for (const ResourceId& id : step.resources) {
        REQUIRE(id.name != left_out);
        REQUIRE(id.name != unreadable);
      }
    }
    for (const auto& [id, managed] : bench.manifest->resources)
      if (id.name == left_out || id.name == unreadable) REQUIRE(plan.resulting.at(id) == managed.last_applied);
  }
}

}  // namespace
}  // namespace sparkplan
