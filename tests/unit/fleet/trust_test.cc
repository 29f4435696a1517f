// One node's report for ssh_trust, and its effect on the plans of the other nodes.
#include <algorithm>
#include <atomic>

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

/// Four nodes get trust; then the file takes n4 out of it.
void set_up(TrustBench& bench) {
  const Report first = bench.apply();
  INFO(to_text(first, {}));
  REQUIRE_FALSE(bench.line_of("n4", 2, kAuthorizedKeys).empty());
  REQUIRE_FALSE(bench.line_of("n1", 2, kAuthorizedKeys).empty());
  bench.without_trust = {4};
}

void check_fourth_is_revoked(TrustBench& bench, int number) {
  INFO(number);
  CHECK(bench.line_of("n4", number, kAuthorizedKeys).empty());
  CHECK(bench.line_of("n4", number, kKnownHosts).empty());
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

TEST_CASE("trust: another key than in a saved plan changes nothing of that node, and stops no revocation elsewhere") {
  TrustBench bench(4);
  set_up(bench);
  const std::string line = bench.line_of("n1", 2, kAuthorizedKeys);
  const std::string host = bench.line_of("n1", 2, kKnownHosts);
  SECTION("the plan shows no change of its lines") {}
  SECTION("the plan shows another key") {
    bench.lies[1] = [](Value truth) {
      Value user = *truth.find("users")->find("nvidia");
      user.set("public_key", fake_public_key("shown"));
      return truth.set("users", Value::map({{"nvidia", user}}));
    };
  }
  SECTION("the plan shows a key that the node has yet to make") { bench.fleet.at(1).node.erase(kKeyFile); }
  const SavedPlan saved = bench.saved_plan();
  bench.options.saved_plan = &saved;
  bench.lies[1] = with_other_keys;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  for (const int number : {2, 3}) {
    check_fourth_is_revoked(bench, number);
    CHECK(report.nodes.at(static_cast<std::size_t>(number - 1)).status == NodeStatus::kApplied);
  }
  CHECK(bench.line_of("n1", 2, kAuthorizedKeys) == line);
  CHECK(bench.line_of("n1", 2, kKnownHosts) == host);
  const Diagnostic* warning = finding_in(report, "plan.other_data");
  REQUIRE(warning != nullptr);
  CHECK(warning->node == "n1");
  CHECK(warning->message.find("n[2-3]") != std::string::npos);
}

TEST_CASE("trust: a node that a saved plan shows and that is silent by now stops no revocation elsewhere") {
  TrustBench bench(4);
  set_up(bench);
  const std::string line = bench.line_of("n1", 2, kAuthorizedKeys);
  bench.lies[1] = with_other_keys;
  const SavedPlan saved = bench.saved_plan();
  REQUIRE(planned_fields(saved.report, 2).contains("authorized.n1"));
  bench.options.saved_plan = &saved;
  SECTION("it cannot be reached") { bench.silent = {1}; }
  SECTION("it is refused") { bench.fleet.at(1).manifest.roster.cluster = "other"; }
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  check_fourth_is_revoked(bench, 2);
  check_fourth_is_revoked(bench, 3);
  CHECK(bench.line_of("n1", 2, kAuthorizedKeys) == line);
  CHECK(finding_in(report, "plan.other_data") != nullptr);
}

TEST_CASE("trust: a node that the file takes out of trust loses its lines by a saved plan, whatever it does") {
  TrustBench bench(4);
  set_up(bench);
  bench.lies[1] = with_other_keys;
  const SavedPlan saved = bench.saved_plan();
  bench.options.saved_plan = &saved;
  bench.silent = {1, 4};
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  check_fourth_is_revoked(bench, 2);
  check_fourth_is_revoked(bench, 3);
}

TEST_CASE("trust: an edited line of a node that reports no key is a warning that names the line and the node") {
  TrustBench bench(3);
  REQUIRE(bench.apply().nodes[1].status == NodeStatus::kApplied);
  const std::string line = bench.line_of("n1", 2, kAuthorizedKeys);
  REQUIRE(line.starts_with("from="));
  bench.silent = {1};
  CHECK(finding_in(bench.plan(), "plan.edited_unreported") == nullptr);
  FakeNode& second = bench.fleet.at(2).node;
  std::string text = *second.text_of(kAuthorizedKeys);
  text.replace(text.find(line), line.size(), line.substr(line.find(' ') + 1));
  second.add_file(kAuthorizedKeys, text, 0600, 1000, 1000);
  const Report plan = bench.plan();
  INFO(to_text(plan, {}));
  const Diagnostic* warning = finding_in(plan, "plan.edited_unreported");
  REQUIRE(warning != nullptr);
  CHECK(warning->node == "n2");
  CHECK(warning->message.find("authorized.n1 (n1 has not reported its key)") != std::string::npos);
  // With a report, it is a difference like any other.
  bench.silent.clear();
  const Report reported = bench.plan();
  CHECK(finding_in(reported, "plan.edited_unreported") == nullptr);
  CHECK(planned_fields(reported, 2) == std::set<std::string>{"authorized.n1"});
}

TEST_CASE("trust: another key in a later stage is not written, and does not keep the others' new keys away") {
  TrustBench bench(3);
  REQUIRE(bench.apply().nodes[1].status == NodeStatus::kApplied);
  const std::string line = bench.line_of("n1", 2, kAuthorizedKeys);
  const std::string old_third = bench.line_of("n3", 2, kAuthorizedKeys);
  bench.fleet.at(3).node.erase(kKeyFile);
  install_fake_ssh_keygen(bench.fleet.at(3).node, "second");
  const SavedPlan saved = bench.saved_plan();
  REQUIRE(planned_fields(saved.report, 2) == std::set<std::string>{"authorized.n3"});
  SECTION("by a saved plan") { bench.options.saved_plan = &saved; }
  SECTION("by a plan that was approved in the same run") {}
  std::atomic<bool> made = false;
  bench.on_steps[3] = [&] { made = true; };
  bench.lies[1] = [&](Value truth) { return made ? with_other_keys(std::move(truth)) : truth; };
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  const std::string third = bench.line_of("n3", 2, kAuthorizedKeys);
  CHECK_FALSE(third.empty());
  CHECK(third != old_third);
  CHECK(bench.line_of("n1", 2, kAuthorizedKeys) == line);
  const Diagnostic* warning = finding_in(report, "plan.other_data");
  REQUIRE(warning != nullptr);
  CHECK(warning->node == "n1");
}

TEST_CASE("trust: a node that announces a key and then has none is named where the others lack it") {
  TrustBench bench(3);
  std::atomic<bool> made = false;
  bench.on_steps[1] = [&] { made = true; };
  bench.lies[1] = [&](Value truth) {
    if (!made) return truth;
    Value user = *truth.find("users")->find("nvidia");
    user.erase("makes_key");
    user.erase("public_key");
    return truth.set("users", Value::map({{"nvidia", user}}));
  };
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  const Diagnostic* warning = finding_in(report, "apply.not_learned");
  REQUIRE(warning != nullptr);
  CHECK(warning->message.find("authorized.n1 stays as it is, because n1 has no usable key") != std::string::npos);
  CHECK(warning->message.find("on n[1-3]") != std::string::npos);
  CHECK_FALSE(bench.line_of("n3", 2, kAuthorizedKeys).empty());
}

TEST_CASE("trust: a node without lies leaves no value of the plan unknown") {
  TrustBench bench(3);
  CHECK(finding_in(bench.apply(), "apply.not_learned") == nullptr);
}

TEST_CASE("trust: a key that a node exchanges after the approval is written nowhere, and the approved one is") {
  TrustBench bench(3);
  REQUIRE(bench.apply().nodes[1].status == NodeStatus::kApplied);
  bench.lies[1] = with_other_keys;
  REQUIRE(planned_fields(bench.saved_plan().report, 2).contains("authorized.n1"));
  std::atomic<bool> written = false;
  bench.on_steps[2] = [&] { written = true; };
  const auto other = bench.lies[1];
  bench.lies[1] = [&](Value truth) {
    Value shown = other(std::move(truth));
    if (!written) return shown;
    const Value user = Value::map({{"public_key", fake_public_key("exchanged")}});
    return shown.set("users", Value::map({{"nvidia", user}}));
  };
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(bench.line_of("n1", 2, kAuthorizedKeys).find(fake_public_key("exchanged")) == std::string::npos);
  const Diagnostic* warning = finding_in(report, "plan.other_data");
  REQUIRE(warning != nullptr);
  CHECK(warning->node == "n1");
}

TEST_CASE("trust: a node that takes back a host key of a saved plan does not stop another node's new key") {
  TrustBench bench(4);
  REQUIRE(bench.apply().nodes[1].status == NodeStatus::kApplied);
  const std::string old_second = bench.line_of("n2", 1, kAuthorizedKeys);
  bench.fleet.at(2).node.erase(kKeyFile);
  install_fake_ssh_keygen(bench.fleet.at(2).node, "second");
  bench.lies[3] = [](Value truth) {
    Value keys = *truth.find("host_keys");
    keys.list_items()->emplace_back(fake_public_key("one more"));
    return truth.set("host_keys", keys);
  };
  const SavedPlan saved = bench.saved_plan();
  REQUIRE(planned_fields(saved.report, 1) == std::set<std::string>{"authorized.n2", "known_hosts.n3"});
  bench.options.saved_plan = &saved;
  bench.lies.clear();
  SECTION("it reports its old data") {}
  SECTION("it is silent") { bench.silent = {3}; }
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  for (const int number : {1, 4}) {
    INFO(number);
    CHECK_FALSE(bench.line_of("n2", number, kAuthorizedKeys).empty());
    CHECK(bench.line_of("n2", number, kAuthorizedKeys) != old_second);
  }
  const Diagnostic* warning = finding_in(report, "plan.other_data");
  REQUIRE(warning != nullptr);
  CHECK(warning->node == "n3");
}

TEST_CASE("trust: a change of a saved plan that another run has made accuses no node") {
  TrustBench bench(4);
  set_up(bench);
  bench.lies[1] = with_other_keys;
  const SavedPlan saved = bench.saved_plan();
  REQUIRE(planned_fields(saved.report, 2).contains("authorized.n1"));
  bench.apply();
  check_fourth_is_revoked(bench, 2);
  bench.options.saved_plan = &saved;
  const Report report = bench.apply();
  INFO(to_text(report, {}));
  CHECK(finding_in(report, "plan.other_data") == nullptr);
  TextStyle wide;
  wide.width = 1000;
  CHECK(to_text(report, wide).find("without this plan") != std::string::npos);
}

TEST_CASE("trust: with all or nothing, another key than in a saved plan is a difference from the plan") {
  TrustBench bench(4);
  set_up(bench);
  const SavedPlan saved = bench.saved_plan();
  bench.options.saved_plan = &saved;
  bench.options.all_or_nothing = true;
  bench.lies[1] = with_other_keys;
  const Report report = bench.apply();
  CHECK(report.not_begun);
  CHECK_FALSE(bench.line_of("n4", 2, kAuthorizedKeys).empty());
}

}  // namespace sparkplan::test
