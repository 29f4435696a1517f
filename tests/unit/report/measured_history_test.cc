// The text and the JSON of `verify --history`.
#include "engine/report/checks/measured_history_report.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/report/schema.h"

namespace sparkplan {
namespace {

constexpr const char* kId = "tcp/spark-01/spark-02/A";

/// Five runs from the tenth of March on; the third day is the last good one. The first value has no run.
MeasuredHistoryReport sample(const std::string& check = "") {
  MeasuredHistoryReport report{"lab", check, {}, {}};
  report.nodes.resize(2);
  report.nodes[0].node = "spark-01";
  report.nodes[1].node = "spark-02";
  report.nodes[1].applied = false;
  CheckHistory history{kId, "spark-01", {}};
  const std::vector<double> values{100, 101, 99, 50, 51};
  for (std::size_t at = 0; at < values.size(); ++at) {
    PastValue value{values[at]};
    if (at > 0) value.run = "202603" + std::to_string(10 + at) + "T120000Z-4f9a1c07";
    value.versions = std::make_shared<const Versions>(Versions{{"kernel", at < 3 ? "6.11" : "6.14\x1b[31m"}});
    history.values.push_back(std::move(value));
  }
  ValueChange change;
  change.at = 3;
  change.before = 100;
  change.after = 50.5;
  change.worse = true;
  change.beside = {"kernel 6.11 -> 6.14 on spark-01"};
  history.change = std::move(change);
  report.checks.push_back(std::move(history));
  return report;
}

/// Noon on the 17th of March 2026, in UTC.
LocalClock noon() {
  LocalClock clock;
  clock.now = 1'773'748'800;
  return clock;
}

using test::has;

}  // namespace

TEST_CASE("a history has the last runs, then what became slower and what happened at that time") {
  CHECK(to_text(sample(), noon(), {}) ==
        "RUN           NODES     tcp Gb/s\n"
        "Mar 14 12:00  spark-01  51\n"
        "Mar 13 12:00  spark-01  50\n"
        "Mar 12 12:00  spark-01  99\n"
        "Mar 11 12:00  spark-01  101\n"
        "SLOWER                   BEFORE  NOW   UNIT  SINCE\n"
        "tcp/spark-01/spark-02/A  100     50.5  Gb/s  Mar 13 12:00\n"
        "    at that time: kernel 6.11 -> 6.14 on spark-01\n"
        "History: 4 runs, 1 check, 1 slower, 0 faster on 2 nodes\n");
}

TEST_CASE("a history is no wider than the terminal") {
  TextStyle narrow;
  narrow.width = 50;
  const std::string text = to_text(sample(), noon(), narrow);
  for (const std::string_view line : split(text, '\n')) CHECK(line.size() <= 50);
}

TEST_CASE("a history says what it does not know, and --quiet leaves out the runs") {
  MeasuredHistoryReport report = sample();
  ValueChange& change = *report.checks[0].change;
  change.beside.clear();
  change.lasting = false;
  TextStyle quiet;
  quiet.quiet = true;
  const std::string text = to_text(report, noon(), quiet);
  INFO(text);
  CHECK(text.starts_with("SLOWER "));
  CHECK(has(text, "Mar 13 12:00, one run\n    no apply and no other version at that time\n"));
  // Without the ids of both runs, nothing is known about the time between them.
  report.checks[0].values[2].run.clear();
  CHECK_FALSE(has(to_text(report, noon(), quiet), "no apply"));
  change.worse = false;
  CHECK(to_text(report, noon(), quiet) == "History: 3 runs, 1 check, 0 slower, 1 faster on 2 nodes\n");
}

TEST_CASE("a long history is cut, and says how much is left out") {
  MeasuredHistoryReport report = sample();
  const CheckHistory first = report.checks[0];
  for (int number = 0; number < 100; ++number) {
    report.checks.push_back(first);
    report.checks.back().id = "tcp/spark-01/x" + std::to_string(number);
  }
  for (std::size_t day = 15; day < 29; ++day) {
    PastValue value{51};
    value.run = "202602" + std::to_string(day) + "T120000Z-4f9a1c07";
    report.checks[0].values.push_back(std::move(value));
  }
  const std::string text = to_text(report, noon(), {});
  INFO(text);
  CHECK(has(text, "and 8 more runs: --json has all\n"));
  CHECK(has(text, "and 71 more slower checks: --json has all\n"));
}

TEST_CASE("runs and checks that one node invents do not push those of the others out of sight") {
  MeasuredHistoryReport report = sample();
  const CheckHistory first = report.checks[0];
  // Both nodes have these runs. One node alone adds a hundred later ones and a hundred slower checks.
  report.checks.push_back(first);
  report.checks.back().id = "tcp/spark-02/spark-01/A";
  report.checks.back().node = "spark-02";
  for (int number = 0; number < 100; ++number) {
    CheckHistory invented = first;
    invented.id = "nccl/all/" + std::to_string(number);
    invented.values.back().run = std::to_string(9000 + number) + "0101T120000Z-4f9a1c07";
    report.checks.insert(report.checks.begin(), std::move(invented));
  }
  const std::string text = to_text(report, noon(), {});
  INFO(text);
  for (const char* day : {"Mar 14", "Mar 13", "Mar 12", "Mar 11"}) CHECK(has(text, day + std::string(" 12:00 ")));
  CHECK(has(text, "spark-[01-02]"));
  CHECK(has(text, "tcp/spark-02/spark-01/A  100 "));
  CHECK(has(text, "and 94 more runs: --json has all\n"));
  CHECK(has(text, "and 72 more slower checks: --json has all\n"));
}

TEST_CASE("a node that describes its runs with hundreds of versions has a table of a few columns") {
  MeasuredHistoryReport report = sample(kId);
  std::size_t number = 0;
  for (PastValue& value : report.checks[0].values) {
    Versions versions;
    for (int i = 0; i < 16; ++i) versions["x" + std::to_string(number++)] = "1";
    value.versions = std::make_shared<const Versions>(std::move(versions));
  }
  const std::string text = to_text(report, noon(), {});
  const std::string header = text.substr(text.find("TIME"), text.find('\n', text.find("TIME")) - text.find("TIME"));
  INFO(header);
  CHECK(std::count(header.begin(), header.end(), 'x') == 8);
}

TEST_CASE("the history of one check has all its values with their versions") {
  const std::string text = to_text(sample(kId), noon(), {});
  INFO(text);
  CHECK(text.starts_with("tcp/spark-01/spark-02/A, kept on spark-01\n"));
  CHECK(has(text, "  TIME          VALUE     kernel\n"));
  CHECK(has(text, "  ?             100 Gb/s  6.11\n"));
  CHECK(has(text, "  Mar 13 12:00  50 Gb/s   6.14"));
  CHECK(has(text, "      at that time: kernel 6.11 -> 6.14 on spark-01\n"));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("the JSON of the longest history of a node is there once") {
  MeasuredHistoryReport report = sample();
  CheckHistory& history = report.checks[0];
  history.values.insert(history.values.end(), 5, history.values.back());
  history.change->beside.assign(7, std::string(350, 'x'));
  report.checks.resize(4000, CheckHistory(history));
  const auto cost = test::cost_of(
      [&] { return to_json_value(report).find("history")->list_items()->size() == report.checks.size(); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 80);
}

TEST_CASE("the JSON of a history fits its schema") {
  MeasuredHistoryReport report = sample();
  report.nodes[1].error = Error{ErrorCode::kUnreachable, "no answer", {}, {}, ""};
  report.nodes[0].measured.runs = {{1, "20260314T120000Z-4f9a1c07", {{"kernel", "6.14"}}}, {2, "yesterday", {}}};
  const auto json = nlohmann::json::parse(public_json(to_json_value(report)));
  CHECK(testing::schema_faults(json, "verify-history") == "");
  const auto& check = json.at("history").at(0);
  CHECK(check.at("unit") == "Gb/s");
  CHECK(check.at("values").at(0).at("time").is_null());
  CHECK(check.at("values").at(1).at("time") == "2026-03-11T12:00:00Z");
  CHECK(check.at("change").at("since") == "2026-03-13T12:00:00Z");
  CHECK(check.at("change").at("worse") == true);
  CHECK(json.at("runs").size() == 4);
  CHECK(json.at("runs").at(0).at("time") == "2026-03-14T12:00:00Z");
  CHECK(json.at("runs").at(0).at("figures").at("tcp").at("check") == kId);
  CHECK(json.at("nodes").at(0).at("status") == "read");
  CHECK(json.at("nodes").at(1).at("status") == "failed");
  const auto& run = json.at("nodes").at(0).at("runs").at(0);
  CHECK(json.at("nodes").at(0).at("runs").size() == 1);
  CHECK(run.at("time") == "2026-03-14T12:00:00Z");
  CHECK(run.at("versions").at("kernel") == "6.14");
  nlohmann::json wrong = json;
  wrong.at("history").at(0).erase("change");
  CHECK_FALSE(testing::schema_faults(wrong, "verify-history") == "");
}

}  // namespace sparkplan
