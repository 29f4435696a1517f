// What one node reports for ssh_trust, and what it changes in the plans of the other nodes.
#include <algorithm>

#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/trust_bench.h"

namespace sparkplan::test {
namespace {

const std::string kOtherKey = fake_public_key("another key");

/// The node reports another key for the user, and another host key.
Value with_other_keys(Value truth) {
  Value user = *truth.find("users")->find("nvidia");
  user.erase("makes_key");
  user.set("public_key", kOtherKey);
  truth.set("users", Value::map({{"nvidia", user}}));
  return truth.set("host_keys", Value::list({kOtherKey}));
}

/// The paths of the node's planned fields.
std::set<std::string> planned_fields(const Report& report, int number) {
  std::set<std::string> paths;
  for (const Change& change : report.nodes.at(static_cast<std::size_t>(number - 1)).plan.changes) {
    for (const FieldChange& field : change.fields) paths.insert(field.path);
  }
  return paths;
}

const Diagnostic* finding_in(const Report& report, const std::string& code) {
  const auto found = std::ranges::find_if(report.diagnostics, [&](const Diagnostic& one) { return one.code == code; });
  return found == report.diagnostics.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("trust: the new keys of a node of another cluster reach no other node") {
  TrustBench bench(3);
  REQUIRE(bench.apply().nodes[1].status == NodeStatus::kApplied);
  bench.lies[1] = with_other_keys;
  bench.fleet.at(1).manifest.roster.cluster = "other";
  const std::string line = bench.line_of("n1", 2, kAuthorizedKeys);
  const Report plan = bench.plan();
  INFO(to_text(plan, {}));
  REQUIRE(plan.nodes[0].error);
  CHECK(plan.nodes[0].error->code == ErrorCode::kRefused);
  CHECK(planned_fields(plan, 2).empty());
  CHECK(planned_fields(plan, 3).empty());
  bench.apply();
  CHECK(bench.line_of("n1", 2, kAuthorizedKeys) == line);
  CHECK(bench.fleet.at(3).node.text_of(kKnownHosts)->find(kOtherKey) == std::string::npos);
}

TEST_CASE("trust: a refused first node does not suppress the warnings about the others") {
  TrustBench bench(3);
  REQUIRE(bench.apply().nodes[1].status == NodeStatus::kApplied);
  bench.lies[2] = with_other_keys;
  bench.lies[3] = with_other_keys;
  SECTION("it belongs to another cluster") { bench.fleet.at(1).manifest.roster.cluster = "other"; }
  SECTION("it cannot be reached") { bench.silent = {1}; }
  SECTION("it exports more than is accepted") {
    bench.lies[1] = [](Value truth) {
      Value::List many;
      for (int i = 0; i < 100; ++i) many.emplace_back("10.1.0." + std::to_string(i));
      return truth.set("addresses", many);
    };
  }
  const Report plan = bench.plan();
  INFO(to_text(plan, {}));
  CHECK(finding_in(plan, "ssh_trust.same-key") != nullptr);
  CHECK(finding_in(plan, "ssh_trust.same-host-key") != nullptr);
}

}  // namespace sparkplan::test
