// The end of `exec` and `run` as text, JSON and exit code.
#include "engine/report/job_text.h"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "engine/core/json.h"
#include "engine/report/exit_code.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

RankReport rank_with(int exit_code, RankEnding ending = RankEnding::kExited) {
  RankReport rank;
  rank.pid = 77;
  rank.ended = RankEnded();
  rank.ended->ending = ending;
  rank.ended->exit_code = exit_code;
  rank.ended->duration_ms = 1500;
  return rank;
}

JobReport report_of(std::vector<RankReport> ranks) {
  JobReport report;
  report.command = "exec";
  report.argv = {"uname", "-r"};
  report.seconds = 1.5;
  for (auto& rank : ranks) {
    rank.rank = static_cast<int>(report.nodes.size());
    report.nodes.push_back({"spark-0" + std::to_string(report.nodes.size() + 1), {}, {std::move(rank)}, {}});
  }
  return report;
}

int code_of(const JobReport& report) { return static_cast<int>(exit_code(report)); }

bool is_valid(const JobReport& report) {
  std::ifstream file(test::source_folder() + "/schemas/job.schema.json");
  const auto schema_document = nlohmann::json::parse(file);
  const auto document = nlohmann::json::parse(public_json(to_json_value(report)));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_document), schema);
  return valijson::Validator().validate(schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
}

/// The text, without colours.
std::string text_of(const JobReport& report, bool quiet = false) {
  TextStyle style;
  style.quiet = quiet;
  return to_text(report, style);
}

}  // namespace

TEST_CASE("a step that a node names cannot begin a line for another node") {
  auto rank = rank_with(0, RankEnding::kNotStarted);
  rank.ended->exit_code.reset();
  rank.ended->failed_step = "x\n! spark-02: exit code 1";
  rank.ended->errno_value = 13;
  const auto text = text_of(report_of({rank}));
  CHECK(text.find("! spark-01: not started: x") != std::string::npos);
  CHECK(text.find("\n! spark-02") == std::string::npos);
}

TEST_CASE("a failed command is 10, after a failed node and before a difference") {
  CHECK(code_of(report_of({rank_with(0), rank_with(0)})) == 0);
  CHECK(code_of(report_of({rank_with(0), rank_with(1)})) == 10);
  CHECK(code_of(report_of({rank_with(0, RankEnding::kTimeLimit)})) == 10);
  CHECK(code_of(report_of({rank_with(0, RankEnding::kStopped)})) == 10);
  auto lost = report_of({rank_with(1), rank_with(0)});
  lost.nodes[1].error = make_error(ErrorCode::kUnreachable, "gone");
  CHECK(code_of(lost) == 4);
  lost.output_error = make_error(ErrorCode::kFailed, "disk full");
  CHECK(code_of(lost) == 1);
  auto stopped = report_of({rank_with(0)});
  stopped.interrupted = true;
  CHECK(code_of(stopped) == 10);
  stopped.nodes[0].error = make_error(ErrorCode::kInterrupted, "stopped");
  CHECK(code_of(stopped) == 10);
  auto left = report_of({rank_with(0)});
  left.nodes[0].left = {4711};
  CHECK(code_of(left) == 4);
}

TEST_CASE("each failed node has one line with the reason, and the verdict is last") {
  auto report = report_of({rank_with(0), rank_with(3)});
  CHECK(text_of(report) == "! spark-02: exit code 3\nexec: failed on 1 of 2 nodes. 1.50 s\n");
  report.nodes[0].left = {4711, 4712};
  CHECK(text_of(report).find("! spark-01: still running, because no signal ends it: pid 4711, 4712\n") == 0);
  const auto good = report_of({rank_with(0)});
  CHECK(text_of(good) == "exec: succeeded on 1 node. 1.50 s\n");
  CHECK(text_of(good, true).empty());
}

TEST_CASE("a command that is not there is named, and so is a missing launcher") {
  auto missing = rank_with(0, RankEnding::kNotStarted);
  missing.ended->exit_code.reset();
  missing.ended->failed_step = "execute";
  missing.ended->errno_value = ENOENT;
  missing.program = "unam";
  auto report = report_of({missing});
  report.argv = {"unam", "-r"};
  CHECK(text_of(report).starts_with("! spark-01: command not found: unam\nexec: "));
  report.command = "run";
  report.argv = {"python3", "train.py"};
  report.nodes[0].ranks[0].program = "mpirun";
  CHECK(
      text_of(report).starts_with("! spark-01: command not found: mpirun\n"
                                  "  hint: mpirun starts your command: install it there\nrun: "));
  CHECK(is_valid(report));
}

TEST_CASE("nodes that share an error have one line, and so have ranks that ended alike") {
  auto report = report_of({rank_with(3), rank_with(3), rank_with(0), rank_with(0)});
  for (const std::size_t at : {2U, 3U}) {
    auto& node = report.nodes[at];
    node.ranks.clear();
    node.address = "10.0.0.1" + std::to_string(at);
    node.error = make_error(ErrorCode::kUnreachable, "connect to " + node.address + " port 22: no answer in time",
                            "try `ping " + node.address + "`");
  }
  CHECK(text_of(report) ==
        "! spark-[01-02]: exit code 3\n"
        "! spark-[03-04]: connect to 10.0.0.[12-13] port 22: no answer in time\n"
        "  hint: try `ping 10.0.0.12`\n"
        "exec: failed on 4 of 4 nodes. 1.50 s\n");
}

TEST_CASE("the ranks of a node that ended alike have one line") {
  auto report = report_of({rank_with(3)});
  report.nodes[0].ranks.push_back(rank_with(3));
  report.nodes[0].ranks[1].rank = 1;
  CHECK(text_of(report).starts_with("! spark-01 rank [0-1]: exit code 3\nexec: "));
}

TEST_CASE("an error of a node cannot control the terminal") {
  auto report = report_of({rank_with(0)});
  report.nodes[0].error = make_error(ErrorCode::kFailed, "a\x1b[2Jb", "c\x1b[2Jd");
  CHECK(text_of(report).find('\x1b') == std::string::npos);
}

TEST_CASE("the JSON is valid under the published schema, also of ends that are unknown") {
  auto report = report_of({rank_with(0), rank_with(3), RankReport()});
  report.nodes[0].ranks[0].output = "a\xff";
  report.nodes[0].ranks[0].output_is_cut = true;
  report.nodes[1].left = {4711};
  report.nodes[2].error = make_error(ErrorCode::kUnreachable, "gone");
  CHECK(is_valid(report));
  const auto json = nlohmann::json::parse(public_json(to_json_value(report)));
  const auto& rank = json.at("nodes").at(1).at("ranks").at(0);
  CHECK(rank.at("exit_code") == 3);
  CHECK(rank.at("pid") == 77);
  CHECK(rank.at("duration_s") == 1.5);
  CHECK(rank.at("signal").is_null());
  CHECK(json.at("nodes").at(2).at("ranks").at(0).at("pid").is_null());
  report.command = "walk";
  CHECK_FALSE(is_valid(report));
}

}  // namespace sparkplan
