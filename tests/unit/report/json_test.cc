#include <nlohmann/json.hpp>

#include "engine/core/json.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/unit/report/samples.h"
#include "tests/unit/report/schema.h"

namespace sparkplan {
namespace {

using testing::sample_change;
using testing::sample_node;
using testing::sample_report;
using testing::sample_reports;

nlohmann::json json_of(const Report& report) { return nlohmann::json::parse(public_json(to_json_value(report))); }

std::string complaints(const nlohmann::json& document) { return testing::schema_faults(document, "report"); }

TEST_CASE("the JSON of every sample is valid under the published schema") {
  for (const auto& [name, report] : sample_reports()) {
    INFO(name);
    CHECK(complaints(json_of(report)).empty());
  }
}

TEST_CASE("an empty report is valid and contains its arrays") {
  Report report;
  report.command = "drift";
  const nlohmann::json json = json_of(report);
  CHECK(complaints(json).empty());
  CHECK(json.at("nodes").is_array());
  CHECK(json.at("diagnostics").is_array());
  CHECK(json.at("format_version") == "1.0");
}

TEST_CASE("the schema rejects wrong statuses, missing arrays and empty fields, and allows unknown keys") {
  nlohmann::json json = json_of(sample_reports()[0].second);
  json["nodes"][0]["something_new"] = 1;
  CHECK(complaints(json).empty());
  nlohmann::json wrong = json;
  wrong["nodes"][0]["status"] = "fine";
  CHECK_FALSE(complaints(wrong).empty());
  wrong = json;
  wrong["nodes"][1].erase("changes");
  CHECK_FALSE(complaints(wrong).empty());
  wrong = json;
  wrong["nodes"][0]["changes"][0]["fields"] = nlohmann::json::array();
  CHECK_FALSE(complaints(wrong).empty());
  wrong = json;
  wrong["format_version"] = "2.0";
  CHECK_FALSE(complaints(wrong).empty());
}

TEST_CASE("a change in JSON has exactly the promised keys") {
  const nlohmann::json json = json_of(sample_reports()[0].second);
  CHECK(json.at("nodes").at(0).at("changes").at(0) == nlohmann::json::parse(R"({
    "id": "spark-01/sysctl/net.core.rmem_max", "type": "sysctl", "name": "net.core.rmem_max",
    "action": "create", "origin": "config", "impact": "live", "reversible": "exact",
    "fields": [{"path": "persistent", "before": null, "after": 268435456},
               {"path": "running", "before": 212992, "after": 268435456}],
    "source": {"file": "cluster.yaml", "line": 31, "column": 5}})"));
}

TEST_CASE("a removal has no source, and a foreign change has a note and no outcome") {
  NodeReport node = sample_node(1, NodeStatus::kApplied);
  node.plan.changes = {sample_change("x/a", Action::kRemove, {{"v", 1, Value()}}),
                       sample_change("x/b", Action::kUpdate, {{"v", 1, 2}}),
                       sample_change("x/b", Action::kUpdate, {{"v", 3, 2}}, Origin::kForeign)};
  node.plan.changes[2].note = "/etc/other:1 wins";
  node.outcomes = {{{"x", "a"}, Outcome::kDone}, {{"x", "b"}, Outcome::kNotDone}};
  const nlohmann::json changes = json_of(sample_report("apply", {node}))["nodes"][0]["changes"];
  CHECK(changes[0]["source"].is_null());
  CHECK(changes[0]["outcome"] == "done");
  CHECK(changes[1]["outcome"] == "not_done");
  CHECK_FALSE(changes[1].contains("note"));
  CHECK_FALSE(changes[2].contains("outcome"));
  CHECK(changes[2]["note"] == "/etc/other:1 wins");
}

TEST_CASE("a value not created yet is {unknown: reason}") {
  const nlohmann::json json = json_of(sample_reports()[3].second);
  CHECK(json["nodes"][0]["changes"][1]["fields"][0]["after"] ==
        nlohmann::json{{"unknown", "known after spark-02 creates its key"}});
  CHECK(json["nodes"][0]["waiting"] == nlohmann::json{"spark-01/ssh_trust/root", "spark-01/unit/late.service"});
}

TEST_CASE("the summary counts an apply's changes, drift among them, and foreign changes separately") {
  NodeReport node = sample_node(1, NodeStatus::kDrifted);
  node.plan.changes = {sample_change("x/a", Action::kUpdate, {{"v", 1, 2}}, Origin::kDrift),
                       sample_change("x/b", Action::kCreate, {{"v", 1, 2}}),
                       sample_change("x/c", Action::kRemove, {{"v", 1, Value()}}),
                       sample_change("x/a", Action::kUpdate, {{"v", 1, 2}}, Origin::kForeign)};
  const Report report =
      sample_report("drift", {node, sample_node(2), sample_node(3), sample_node(4, NodeStatus::kUnreachable)});
  CHECK(json_of(report)["summary"] == nlohmann::json::parse(R"({"create": 1, "update": 1, "remove": 1, "drifted": 1,
    "foreign": 1, "nodes": 4, "nodes_in_sync": 2, "nodes_unreachable": 1})"));
}

TEST_CASE("a harmless foreign setting has no fields and is not counted") {
  NodeReport node = sample_node(1);
  node.plan.changes = {sample_change("x/a", Action::kUpdate, {}, Origin::kForeign)};
  node.plan.changes[0].note = "/etc/other says it twice";
  const nlohmann::json json = json_of(sample_report("plan", {node}));
  CHECK(complaints(json).empty());
  CHECK(json["summary"]["foreign"] == 0);
  CHECK(json["summary"]["nodes_in_sync"] == 1);
  CHECK(json["nodes"][0]["changes"][0]["fields"].empty());
  CHECK(json["nodes"][0]["changes"][0]["note"] == "/etc/other says it twice");
}

TEST_CASE("a node's error and the file's findings are in the JSON with their hints") {
  NodeReport node = sample_node(1, NodeStatus::kUnreachable);
  node.error = Error{ErrorCode::kUnreachable, "connect", {"node spark-01"}, 113, "is it switched on?"};
  node.lock_holder = "anna";
  Report report = sample_report("plan", {node});
  Diagnostic finding;
  finding.code = "test.bad";
  finding.message = "is bad";
  finding.file = "cluster.yaml";
  finding.where = {3, 4, 5};
  finding.node = "spark-01";
  finding.notes = {{"first defined here", {1, 2, 3}}};
  report.diagnostics = {finding};
  const nlohmann::json json = json_of(report);
  CHECK(complaints(json).empty());
  CHECK(json["nodes"][0]["error"]["code"] == "unreachable");
  CHECK(json["nodes"][0]["error"]["message"] == "node spark-01: connect: No route to host");
  CHECK(json["nodes"][0]["error"]["hint"] == "is it switched on?");
  CHECK(json["nodes"][0]["lock_holder"] == "anna");
  CHECK(json["diagnostics"][0] == nlohmann::json::parse(R"({"severity": "error", "code": "test.bad",
    "message": "is bad", "hint": "", "file": "cluster.yaml", "line": 3, "column": 4, "node": "spark-01",
    "notes": [{"message": "first defined here", "line": 1, "column": 2}]})"));
}

}  // namespace
}  // namespace sparkplan
