// A node that reports more secrets than sparkplan looks for in messages.
#include "engine/report/plan/hidden_texts.h"

#include <map>
#include <string>

#include "engine/report/plan/plan_for_others.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::sample_change;
using testing::sample_node;
using testing::sample_report;

/// Different lines that each name a secret, in a text as large as an observation has room for.
std::string millions_of_secrets() {
  std::string text;
  for (int number = 0; text.size() < std::size_t{4} << 20U; ++number) text += "psk=" + std::to_string(number) + "\n";
  return text;
}

/// The first node has such a file, twice in its plan, and a removal that restores another one. The second node has an
/// error, and quotes a secret of its own.
Report report_with_millions_of_secrets() {
  NodeReport first = sample_node(1, NodeStatus::kPending);
  const Value file = Value::map({{"content", millions_of_secrets()}});
  first.plan.changes = {sample_change("file//etc/a", Action::kUpdate, {{"content", *file.find("content"), "a"}}),
                        sample_change("profile_env/B", Action::kCreate, {{"value", Value(), "b"}})};
  first.plan.changes[1].note = "a foreign file sets psk=12345";
  first.plan.steps.emplace_back().before = Present{file, {}};
  first.plan.steps.emplace_back().after = Present{file, {}};
  first.plan.blocked = {{{"file", "/etc/c"}, {ErrorCode::kFailed, "no psk=54321", {}, {}, ""}, {}}};
  NodeReport second = sample_node(2, NodeStatus::kPending);
  second.plan.changes = {sample_change("profile_env/A_TOKEN", Action::kUpdate, {{"value", "of-second", "of-file"}})};
  second.error = Error{ErrorCode::kFailed, "no psk=12345, of-second, of-file", {}, {}, ""};
  Report report = sample_report("plan", {first, second});
  for (const char* code : {"profile_env.foreign", "roster.disputed-id"}) {
    Diagnostic& one = report.diagnostics.emplace_back();
    one.code = code;
    one.node = first.name;
    one.message = "psk=12345 is claimed";
  }
  return report;
}

}  // namespace

TEST_CASE("millions of secrets on one node cost a report for others less than 40 MB") {
  const Report report = report_with_millions_of_secrets();
  const auto cost = test::cost_of([&] {
    const Report shown = for_others(report, {});
    return shown.nodes[0].plan.changes[0].fields[0].before == Value(kHidden);
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
  CHECK(cost.seconds < 5);
}

TEST_CASE("with more secrets than are looked for, a node's messages are hidden whole, and those of others are not") {
  const auto name = NodeName::parse("spark-02");
  REQUIRE(name);
  Cluster cluster;
  const std::map<std::string, Value> sections{{"profile_env", Value::map({{"A_TOKEN", "of-file"}})}};
  cluster.nodes.push_back({*name, 2, "10.0.0.12", {}, {}, {}, false, {}, sections, {}});
  const Report shown = for_others(report_with_millions_of_secrets(), cluster);
  const NodeReport& first = shown.nodes[0];
  CHECK(first.plan.changes[1].note == kHiddenMessage);
  CHECK(first.plan.changes[0].note.empty());
  CHECK(first.plan.blocked[0].error.message == kHiddenMessage);
  CHECK((first.plan.changes[1].fields[0].after == Value("b")));
  CHECK(shown.diagnostics[0].message == kHiddenMessage);
  // A warning about its claims on others, and what another node says.
  CHECK(shown.diagnostics[1].message == "psk=12345 is claimed");
  CHECK(shown.nodes[1].error->message == "no psk=12345, (hidden), (hidden)");
}

}  // namespace sparkplan
