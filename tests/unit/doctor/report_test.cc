// The output of `doctor`, for people and for programs.
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/doctor/doctor_table.h"
#include "engine/report/checks/check_report.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"
#include "tests/unit/doctor/capture.h"

namespace sparkplan {
namespace {

/// All errors of a document against a file in schemas/; empty when it is valid.
std::string complaints(const std::string& schema_file, const nlohmann::json& document) {
  std::ifstream file(test::source_folder() + "/schemas/" + schema_file);
  const auto text = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema);
  valijson::ValidationResults results;
  valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results);
  std::string found;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const auto& step : error.context) found += step;
    found += ": " + error.description + "\n";
  }
  return found;
}

NodeReport node_named(const std::string& name) {
  NodeReport node;
  node.name = name;
  node.address = "10.0.0.11";
  return node;
}

DoctorReport sample() {
  DoctorReport report;
  report.run.command = "doctor";
  report.run.cluster = "lab";
  report.run.config_digest = std::string(64, '0');
  report.run.duration = std::chrono::milliseconds(1500);
  report.run.nodes = {node_named("spark-01"), node_named("spark-02")};
  report.findings = {
      {"netplan-mode", {"spark-01"}, false, CheckStatus::kWarn, "/etc/netplan/50.yaml has mode 0644"},
      {"netplan-mode", {"spark-02"}, false, CheckStatus::kWarn, "/etc/netplan/50.yaml has mode 0644"},
      {"link-mtu", {"spark-01"}, false, CheckStatus::kFail, "enp1 \x1b[31m has an MTU of 1500 instead of 9000"},
      {"link-mtu", {"spark-02"}, false, CheckStatus::kPass, ""},
      {"link-down", {"spark-01"}, false, CheckStatus::kPass, ""},
      {"link-down", {"spark-02"}, false, CheckStatus::kPass, ""},
      {"nvme-not-live", {"spark-01"}, false, CheckStatus::kSkip, "no NVMe device over the network"},
      {"nvme-not-live", {"spark-02"}, false, CheckStatus::kSkip, "no NVMe device over the network"},
      {"differs-kernel", {"spark-01", "spark-02"}, true, CheckStatus::kPass, "6.17"},
  };
  report.run.verification_failed = true;
  return report;
}

TextStyle columns(int width) {
  TextStyle style;
  style.width = width;
  return style;
}

nlohmann::json json_of(const DoctorReport& report) { return nlohmann::json::parse(public_json(to_json_value(report))); }

}  // namespace

TEST_CASE("the text lists failures first and in detail, and the number of passed rows on one line") {
  const auto text = to_text(sample(), columns(1000));
  CHECK(text == "FAIL  spark-01  link-mtu: " + std::string(RowId("link-mtu")->symptom) +
                    "\n        seen: enp1 \xE2\x90\x9B[31m has an MTU of 1500 instead of 9000\n        cause: " +
                    std::string(RowId("link-mtu")->cause) + "\n        fix: " + std::string(RowId("link-mtu")->fix) +
                    "\nwarn  spark-[01-02]  netplan-mode: " + std::string(RowId("netplan-mode")->symptom) +
                    "\n        seen: /etc/netplan/50.yaml has mode 0644\n        cause: " +
                    std::string(RowId("netplan-mode")->cause) +
                    "\n        fix: " + std::string(RowId("netplan-mode")->fix) +
                    "\npass  2 checks (-v lists them)\nskip  1 check (-v lists them)\n"
                    "Doctor: 1 failed, 1 warning, 2 passed, 1 skipped. 1.50 s\n");
}

TEST_CASE("with -v the passed and the skipped rows are named, and a row that a node skips counts as passed") {
  TextStyle verbose;
  verbose.verbose = true;
  auto report = sample();
  CHECK(to_text(report, verbose).find("\npass  link-down, differs-kernel\nskip  nvme-not-live\n") != std::string::npos);
  report.findings[6].status = CheckStatus::kPass;
  const auto text = to_text(report, verbose);
  CHECK(text.find("\npass  link-down, nvme-not-live, differs-kernel\nDoctor: ") != std::string::npos);
  CHECK(text.find("3 passed, 0 skipped.") != std::string::npos);
}

TEST_CASE("no line of the text is wider than the terminal") {
  for (const int width : {60, 80}) {
    TextStyle style = columns(width);
    style.verbose = true;
    auto report = sample();
    for (const RowId row : examined_rows())
      report.findings.push_back({row, {"spark-01"}, false, CheckStatus::kPass, ""});
    const auto text = to_text(report, style);
    for (const std::string_view line : split_lines(text)) CHECK(text_width(line) <= static_cast<std::size_t>(width));
  }
}

TEST_CASE("quiet omits passed rows") {
  const auto text = to_text(sample(), {false, true, true, 100});
  CHECK(text.find("pass  ") == std::string::npos);
  CHECK(text.find("link-mtu") != std::string::npos);
}

TEST_CASE("the JSON is valid under its schema") {
  const auto json = json_of(sample());
  CHECK(complaints("doctor.schema.json", json).empty());
  CHECK(json.at("checks").size() == 9);
  CHECK(json.at("checks")[0].at("id") == "doctor/spark-01/netplan-mode");
  CHECK(json.at("checks")[8].at("id") == "doctor/all/differs-kernel");
  CHECK(json.at("summary").at("fail") == 1);
  auto broken = json;
  broken["checks"][2].erase("fix");
  CHECK_FALSE(complaints("doctor.schema.json", broken).empty());
}

TEST_CASE("findings and facts of captured machines are valid under their schemas") {
  const auto captured = test::captured_node(test::read_capture("spark.txt"));
  DoctorReport report = sample();
  report.findings = examine({{captured.examined()}, false, 0});
  CHECK(complaints("doctor.schema.json", json_of(report)).empty());
  const Value facts =
      Value::map({{"format_version", "1.0"},
                  {"nodes", Value::list({Value::map({{"name", "spark-01"}, {"facts", encode(captured.facts)}})})}});
  auto json = nlohmann::json::parse(public_json(facts));
  CHECK(complaints("facts.schema.json", json).empty());
  json["nodes"][0]["facts"]["host"]["routes"][0]["destination"] = 1;
  CHECK_FALSE(complaints("facts.schema.json", json).empty());
}

TEST_CASE("a ring is detected when every node has cables to two others") {
  Cluster cluster;
  const auto name = [](const char* text) { return *NodeName::parse(text); };
  CHECK_FALSE(is_ring(cluster));
  cluster.cables = {{name("a"), name("b")}};
  CHECK_FALSE(is_ring(cluster));
  cluster.cables = {{name("a"), name("b")}, {name("b"), name("c")}};
  CHECK_FALSE(is_ring(cluster));
  cluster.cables.emplace_back(name("c"), name("a"));
  CHECK(is_ring(cluster));
}

}  // namespace sparkplan
