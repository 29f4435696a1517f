// A plan as a text, and what of it may still be carried out.
#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "engine/core/json.h"
#include "engine/plan/held_plan.h"
#include "engine/plan/saved_plan.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/report_samples.h"

namespace sparkplan {
namespace {

SavedPlan some_plan(Report report = testing::sample_reports().begin()->second) {
  SavedPlan plan;
  plan.id = "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10";
  plan.created = "2026-03-01T12:00:00Z";
  plan.sparkplan_version = "0.1.0";
  plan.source = "version: 1\nname: lab # \xc3\xa4\n";
  plan.only = {"spark-0*"};
  plan.machines["spark-01"] = {"0123", "SHA256:abc"};
  plan.report = std::move(report);
  plan.report.command = "plan";
  plan.report.config_digest = std::string(64, 'a');
  return plan;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool fits_schema(const std::string& text) {
  std::ifstream file(std::string(SPARKPLAN_SOURCE_DIR) + "/schemas/plan.schema.json");
  const auto schema_document = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_document), schema);
  const auto document = nlohmann::json::parse(text);
  return valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
}

const ResourceId kA{"fake", "a"};
const ResourceId kB{"fake", "b"};

Change change_of(const ResourceId& id, Value before, Value after) {
  Change change;
  change.id = id;
  change.fields.push_back({"value", std::move(before), std::move(after)});
  return change;
}

Step step_of(const std::string& path, const std::string& before, const std::string& after,
             std::vector<ResourceId> resources) {
  Step step;
  step.type = "fake";
  step.group = path;
  step.artifact = file_artifact(path);
  step.before = file_present(before, 0644);
  step.after = file_present(after, 0644);
  step.resources = std::move(resources);
  return step;
}

NodePlan two_changes() {
  NodePlan plan;
  plan.changes = {change_of(kA, 1, 2), change_of(kB, 1, 2)};
  plan.steps = {step_of("/a", "old", "new", {kA}), step_of("/b", "old", "new", {kB})};
  return plan;
}

}  // namespace

TEST_CASE("a saved plan says the same as before, in text and in JSON, and fits its schema") {
  for (const auto& [name, report] : testing::sample_reports()) {
    INFO(name);
    const auto plan = some_plan(report);
    const auto text = encode_saved_plan(plan);
    CHECK(is_saved_plan(text));
    CHECK(fits_schema(text));
    const auto decoded = decode_saved_plan(text);
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

TEST_CASE("a plan is told by its content, and no cluster.yaml is taken for one") {
  CHECK(is_saved_plan(" \n{ \"sparkplan_plan\": {"));
  for (const std::string text : {"", "version: 1\n", "{version: 1, name: lab}", "{\"name\": \"sparkplan_plan\"}",
                                 "sparkplan_plan: {}", "[\"sparkplan_plan\"]", "{"}) {
    INFO(text);
    CHECK_FALSE(is_saved_plan(text));
  }
}

TEST_CASE("a plan that is cut off anywhere is refused as damaged") {
  const auto text = encode_saved_plan(some_plan());
  for (std::size_t length = 30; length + 2 < text.size(); length += text.size() / 41 + 1) {
    INFO(length);
    const auto decoded = decode_saved_plan(text.substr(0, length));
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::kInvalidInput);
    CHECK(decoded.error().message.find("damaged") != std::string::npos);
    CHECK(decoded.error().hint.find("sparkplan plan -o") != std::string::npos);
  }
}

TEST_CASE("a plan that was edited is refused, whatever was changed in it") {
  const auto text = encode_saved_plan(some_plan());
  for (const auto& edited : {replaced(text, "name: lab", "name: lob"), replaced(text, "SHA256:abc", "SHA256:abd"),
                             replaced(text, "spark-0*", "spark-1*"), replaced(text, "0b5e0c3e", "1b5e0c3e"),
                             replaced(text, "\"digest\": \"", "\"digest\": \"0")}) {
    const auto decoded = decode_saved_plan(edited);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::kInvalidInput);
    CHECK(decoded.error().message.find("not as it was written") != std::string::npos);
  }
}

TEST_CASE("blanks and the order of keys are no edits") {
  const auto text = encode_saved_plan(some_plan());
  CHECK(decode_saved_plan(nlohmann::json::parse(text).dump()));
}

TEST_CASE("a plan of a newer major format is refused with its version, one of a newer minor is read") {
  const auto text = encode_saved_plan(some_plan());
  const auto newer = decode_saved_plan(replaced(text, "\"format_version\": \"1.0\"", "\"format_version\": \"2.0\""));
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == ErrorCode::kUnsupported);
  CHECK(newer.error().message.find("2.0") != std::string::npos);
  CHECK(newer.error().hint.find("0.1.0") != std::string::npos);
}

TEST_CASE("a plan that is still the same is approved whole") {
  const auto held = hold_to(two_changes(), two_changes());
  CHECK(held.approved == std::set<ResourceId>{kA, kB});
  CHECK(held.stale.empty());
  CHECK(held.not_held.empty());
}

TEST_CASE("what begins or ends elsewhere is stale, and the other change is not") {
  for (const auto& now_step : {step_of("/a", "touched", "new", {kA}), step_of("/a", "old", "other", {kA}),
                               step_of("/elsewhere", "old", "new", {kA})}) {
    auto now = two_changes();
    now.steps[0] = now_step;
    const auto held = hold_to(two_changes(), now);
    CHECK(held.approved == std::set<ResourceId>{kB});
    REQUIRE(held.stale.count(kA) == 1);
    CHECK(held.stale.at(kA).code == ErrorCode::kStalePlan);
  }
}

TEST_CASE("what is undone together with something stale, or needs it, is stale as well") {
  auto saved = two_changes();
  saved.steps[1].group = saved.steps[0].group;
  auto now = saved;
  now.steps[0].before = file_present("touched", 0644);
  CHECK(hold_to(saved, now).approved.empty());
  saved = two_changes();
  saved.steps[1].needs = {kA};
  now = saved;
  now.steps[0].before = file_present("touched", 0644);
  CHECK(hold_to(saved, now).approved.empty());
}

TEST_CASE("what is in sync by now is stale, what is new is named, what is blocked is neither") {
  auto now = two_changes();
  now.changes.erase(now.changes.begin());
  now.steps.erase(now.steps.begin());
  CHECK(hold_to(two_changes(), now).stale.count(kA) == 1);
  const auto held = hold_to(now, two_changes());
  CHECK(held.not_held == std::vector<ResourceId>{kA});
  CHECK(held.approved == std::set<ResourceId>{kB});
  now.blocked.push_back({kA, Error{ErrorCode::kFailed, "no look", {}, {}, ""}, {}});
  CHECK(hold_to(two_changes(), now).stale.empty());
}

TEST_CASE("a change that waited is approved with what became known, but not from another beginning") {
  NodePlan saved;
  saved.changes = {change_of(kA, 1, Value(Value::Unknown{"a key", "n2/fake/key"}))};
  saved.waiting = {kA};
  NodePlan now;
  now.changes = {change_of(kA, 1, 7)};
  now.steps = {step_of("/a", "old", "with the key", {kA})};
  CHECK(hold_to(saved, now).approved == std::set<ResourceId>{kA});
  now.changes = {change_of(kA, 5, 7)};
  CHECK(hold_to(saved, now).stale.count(kA) == 1);
}

}  // namespace sparkplan
