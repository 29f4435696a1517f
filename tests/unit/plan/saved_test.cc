// A plan as a text.
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "engine/core/json.h"
#include "engine/core/name_list.h"
#include "engine/plan/readable_ids.h"
#include "engine/plan/saved_plan.h"
#include "engine/plan/saved_plan_check.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/support/saved_text.h"
#include "tests/support/source_folder.h"
#include "tests/unit/plan/saved_samples.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::some_plan;
using testing::two_changes;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool fits_schema(const std::string& text) {
  std::ifstream file(test::source_folder() + "/schemas/plan.schema.json");
  const auto schema_document = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_document), schema);
  const auto document = nlohmann::json::parse(text);
  return valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
}

}  // namespace

TEST_CASE("a saved plan prints the same text and JSON as before, and is valid under its schema") {
  for (const auto& [name, report] : testing::sample_reports()) {
    INFO(name);
    if (name.find("apply") != std::string::npos) continue;  // Not a plan.
    auto plan = some_plan(report);
    if (name == "plan-hostile") plan.report.nodes[0].name = "spark-01";  // A saved plan with its name is refused.
    const auto text = test::saved_text(plan);
    CHECK(is_saved_plan(text));
    CHECK(fits_schema(text));
    const auto decoded = decode_saved_plan(text);
    if (!decoded) UNSCOPED_INFO(decoded.error().describe());
    REQUIRE(decoded);
    CHECK(decoded->id == plan.id);
    CHECK(decoded->source == plan.source);
    CHECK(decoded->only == plan.only);
    CHECK(decoded->machines == plan.machines);
    auto expected = plan.report;
    expected.interrupted = false;
    for (auto& node : expected.nodes) node.outcomes.clear();
    CHECK(public_json(to_json_value(decoded->report)) == public_json(to_json_value(expected)));
    CHECK(to_text(decoded->report, {}) == to_text(expected, {}));
  }
}

TEST_CASE("a plan with megabytes of escaped text is saved without its whole text, or a second copy of its values") {
  constexpr std::size_t kBytes = std::size_t{14} << 20;
  const auto cost = test::cost_of([] {
    auto plan = some_plan();
    plan.report.nodes.emplace_back().plan.changes.emplace_back().fields = {
        {"content", std::string(kBytes, '\x7f'), Value()}};
    const Value whole = sealed(std::move(plan));
    std::size_t written = 0;
    encode_short_json(whole, kPlanIndent, [&](std::string_view piece) { written += piece.size(); });
    return written > kBytes && written < 2 * kBytes;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 50);
}

TEST_CASE("a plan that has its long escaped texts as earlier versions wrote them is read, with the same digest") {
  auto plan = some_plan();
  plan.report.nodes[0].plan.changes[0].note = std::string(1000, '\x7f');
  const std::string text = test::saved_text(plan);
  CHECK(text.find("\\u007f") == std::string::npos);
  CHECK(fits_schema(text));
  const std::string earlier = encode_json(sealed(plan), kPlanIndent);
  CHECK(earlier.find("\\u007f") != std::string::npos);
  for (const std::string& one : {text, earlier}) {
    const auto decoded = decode_saved_plan(one);
    REQUIRE(decoded);
    CHECK(decoded->report.nodes[0].plan.changes[0].note == plan.report.nodes[0].plan.changes[0].note);
  }
}

TEST_CASE("a saved plan is recognised by its content, and no cluster.yaml is mistaken for one") {
  CHECK(is_saved_plan(" \n{ \"sparkplan_plan\": {"));
  for (const std::string text : {"", "version: 1\n", "{version: 1, name: lab}", "{\"name\": \"sparkplan_plan\"}",
                                 "sparkplan_plan: {}", "[\"sparkplan_plan\"]", "{"}) {
    INFO(text);
    CHECK_FALSE(is_saved_plan(text));
  }
}

TEST_CASE("a truncated plan is refused as damaged") {
  const auto text = test::saved_text(some_plan());
  for (std::size_t length = 30; length + 2 < text.size(); length += text.size() / 41 + 1) {
    INFO(length);
    const auto decoded = decode_saved_plan(text.substr(0, length));
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::kInvalidInput);
    CHECK(decoded.error().message.find("damaged") != std::string::npos);
    CHECK(decoded.error().hint.find("sparkplan plan -o") != std::string::npos);
  }
}

TEST_CASE("any edited plan is refused") {
  const auto text = test::saved_text(some_plan());
  for (const auto& edited : {replaced(text, "name: lab", "name: lob"), replaced(text, "SHA256:abc", "SHA256:abd"),
                             replaced(text, "spark-0*", "spark-1*"), replaced(text, "0b5e0c3e", "1b5e0c3e"),
                             replaced(text, "\"digest\": \"", "\"digest\": \"0")}) {
    const auto decoded = decode_saved_plan(edited);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::kInvalidInput);
    CHECK(decoded.error().message.find("not as it was written") != std::string::npos);
  }
}

TEST_CASE("changed blanks and a changed order of keys are accepted") {
  const auto text = test::saved_text(some_plan());
  CHECK(decode_saved_plan(nlohmann::json::parse(text).dump()));
}

TEST_CASE("a plan of a newer major format is refused with its version, and one of a newer minor format is read") {
  const auto text = test::saved_text(some_plan());
  const auto newer = decode_saved_plan(replaced(text, "\"format_version\": \"1.0\"", "\"format_version\": \"2.0\""));
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == ErrorCode::kUnsupported);
  CHECK(newer.error().message.find("2.0") != std::string::npos);
  CHECK(newer.error().hint.find("0.1.0") != std::string::npos);
}

namespace {

/// A one-node plan with one change that its step carries out.
SavedPlan plan_of_one_node() {
  NodeReport node = testing::sample_node(1, NodeStatus::kPending);
  node.plan = two_changes();
  return some_plan(testing::sample_report("plan", {node}));
}

bool is_refused(const SavedPlan& plan, const std::string& words) {
  const auto decoded = decode_saved_plan(test::saved_text(plan));
  if (decoded) return false;
  INFO(decoded.error().describe());
  CHECK(decoded.error().code == ErrorCode::kInvalidInput);
  CHECK(decoded.error().describe().find(words) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("a plan with inconsistent parts is refused, even with a matching digest") {
  REQUIRE(decode_saved_plan(test::saved_text(plan_of_one_node())));
  const std::vector<std::pair<std::string, std::function<void(SavedPlan&)>>> edits{
      {"waits on",
       [](SavedPlan& plan) {
         plan.report.nodes[0].plan.waiting.push_back({"fake", "hidden"});
       }},
      {"belongs to fake/hidden",
       [](SavedPlan& plan) {
         plan.report.nodes[0].plan.steps[0].resources.push_back({"fake", "hidden"});
       }},
      {"belongs to no change", [](SavedPlan& plan) { plan.report.nodes[0].plan.steps[0].resources.clear(); }},
      {"belongs to no change",
       [](SavedPlan& plan) {
         plan.report.nodes[0].plan.after_steps[{"fake", "hidden"}] = 1;
       }},
      {"nothing is shown that it waits for",
       [](SavedPlan& plan) {
         plan.report.nodes[0].plan.waiting.push_back({"fake", "a"});
       }},
      {"shows nothing", [](SavedPlan& plan) { plan.report.nodes[0].plan.changes[0].fields.clear(); }},
      {"twice", [](SavedPlan& plan) { plan.report.nodes.push_back(plan.report.nodes[0]); }},
      {"no such node",
       [](SavedPlan& plan) {
         plan.machines["spark-77"] = {"1", "2"};
       }},
      {"is shown as in_sync", [](SavedPlan& plan) { plan.report.nodes[0].status = NodeStatus::kInSync; }},
      {"left alone", [](SavedPlan& plan) { plan.report.nodes[0].status = NodeStatus::kSkipped; }},
      {"left alone",
       [](SavedPlan& plan) {
         plan.report.nodes[0].error = Error{ErrorCode::kUnreachable, "gone", {}, {}, ""};
       }},
      {"its id", [](SavedPlan& plan) { plan.id = "../../etc"; }},
      {"its id", [](SavedPlan& plan) { plan.id = ""; }},
      {"creation time", [](SavedPlan& plan) { plan.created = "\x1b[2J"; }},
      {"its file has a control character",
       [](SavedPlan& plan) { plan.report.file = "a\nRun them? [y] y\n/cluster.yaml"; }},
      {"its file has a control character", [](SavedPlan& plan) { plan.report.file = "\x1b[2J/cluster.yaml"; }},
      {"sparkplan_version", [](SavedPlan& plan) { plan.sparkplan_version = "\x1b[2J"; }},
  };
  for (const auto& [words, edit] : edits) {
    INFO(words);
    auto plan = plan_of_one_node();
    edit(plan);
    CHECK(is_refused(plan, words));
  }
}

TEST_CASE("forty thousand waiting changes in a saved plan cost less than five seconds") {
  auto plan = plan_of_one_node();
  NodePlan& node = plan.report.nodes[0].plan;
  node = {};
  constexpr int kCount = 40'000;
  for (int i = 0; i < kCount; ++i) {
    const ResourceId id{"fake", std::to_string(i)};
    Change change = testing::change_of(id, 1, 2);
    change.note = "waits for fake/" + std::to_string(i == kCount - 1 ? 0 : kCount - 1);
    node.changes.push_back(std::move(change));
    node.waiting.push_back(id);
  }
  plan.report.nodes[0].status = status_of(node);
  const auto text = test::saved_text(std::move(plan));
  const std::clock_t begun = std::clock();
  const auto decoded = decode_saved_plan(text);
  if (!decoded) UNSCOPED_INFO(decoded.error().describe());
  CHECK(decoded);
  CHECK(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC < 5);
}

TEST_CASE("a change of a saved plan does not wait for itself, nor for a change that does not wait") {
  for (const std::string note : {"waits for fake/a", "waits for fake/b", "waits for fake/hidden"}) {
    auto plan = plan_of_one_node();
    plan.report.nodes[0].plan.waiting = {testing::kA};
    plan.report.nodes[0].plan.changes[0].note = note;
    CHECK(is_refused(plan, "nothing is shown that it waits for"));
  }
}

TEST_CASE("an id that a saved plan cannot contain is found in every part of a plan") {
  CHECK_FALSE(unreadable_id(testing::two_changes()));
  const ResourceId nameless{"netplan", ""};
  const auto found_in = [](const auto& add) {
    NodePlan plan = testing::two_changes();
    add(plan);
    return unreadable_id(plan).value_or("(none)");
  };
  CHECK(found_in([&](NodePlan& plan) { plan.changes[1].id = nameless; }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.steps[1].artifact = {"ufw_rule", ""}; }) == "ufw_rule:");
  CHECK(found_in([&](NodePlan& plan) { plan.steps[0].resources.push_back(nameless); }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.steps[0].needs.push_back(nameless); }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.blocked.push_back({nameless, {}, {}}); }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.not_applicable.push_back({nameless, "", ""}); }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.kept_orphans.push_back(nameless); }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.waiting.push_back(nameless); }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.resulting[nameless] = 1; }) == "netplan/");
  CHECK(found_in([&](NodePlan& plan) { plan.after_steps[nameless] = 1; }) == "netplan/");
}

TEST_CASE("a plan of a node that no saved plan may contain is found before it is saved") {
  NodePlan plan = testing::two_changes();
  CHECK(check_node_plan("n1", plan));
  plan.changes.pop_back();
  const auto refused = check_node_plan("n1", plan);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "a step for /b on n1 belongs to fake/b, but no change of it is shown");
}

TEST_CASE("a plan with more patterns than a command takes is refused") {
  for (const auto& patterns : {std::vector<std::string>(100'000, "a[1-4096]"),
                               std::vector<std::string>{std::string(kMostPatternBytes + 1, 'a')}}) {
    auto plan = plan_of_one_node();
    plan.only = patterns;
    CHECK_FALSE(decode_saved_plan(test::saved_text(plan)));
    plan.only.clear();
    plan.exclude = patterns;
    CHECK_FALSE(decode_saved_plan(test::saved_text(plan)));
  }
}

TEST_CASE("a plan file with additional content is refused") {
  auto text = test::saved_text(some_plan());
  text.insert(text.rfind('}'), ", \"more\": 1");
  const auto decoded = decode_saved_plan(text);
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().message.find("more than the plan") != std::string::npos);
}

TEST_CASE("a plan with too many values is refused before it is decoded") {
  std::string text = "{\"sparkplan_plan\": [";
  text.append(2 * kMostPlanValues, ',');
  CHECK(is_too_large(text));
  const auto decoded = decode_saved_plan(text);
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().message.find("larger than any") != std::string::npos);
  // A comma inside a string does not count.
  CHECK_FALSE(is_too_large("{\"sparkplan_plan\": \"\\\"" + std::string(2 * kMostPlanValues, ',') + "\"}"));
}

}  // namespace sparkplan
