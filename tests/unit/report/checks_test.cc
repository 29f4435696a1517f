#include <limits>
#include <nlohmann/json.hpp>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/checks/matrix.h"
#include "engine/report/exit_code.h"
#include "tests/support/catch.h"
#include "tests/support/page_rules.h"
#include "tests/unit/report/schema.h"

namespace sparkplan {
namespace {

Check check_of(Level level, std::vector<std::string> nodes, CheckStatus status, const std::string& text) {
  Check check = skipped(level, std::move(nodes), level == Level::kStorage ? "" : "A", "");
  check.status = status;
  check.text = text;
  return check;
}

Check tcp(const std::string& from, const std::string& to, double value) {
  auto check = check_of(Level::kTcp, {from, to}, CheckStatus::kPass, "TCP, 4 streams");
  check.value = value;
  check.unit = "Gb/s";
  return check;
}

VerifyReport verify_sample() {
  VerifyReport report;
  report.run.command = "verify";
  report.run.cluster = "lab";
  report.run.config_digest = std::string(64, '0');
  report.run.duration = std::chrono::milliseconds(1500);
  auto narrow = check_of(Level::kMtu, {"spark-01", "spark-02"}, CheckStatus::kFail, "largest packet that arrives");
  narrow.value = 1500;
  narrow.unit = "bytes";
  narrow.threshold = 9000;
  narrow.cause = "something <on> the way & \x1b[31m more";
  narrow.fix = "set the MTU of the switch";
  report.checks = {
      narrow,
      check_of(Level::kLink, {"spark-01"}, CheckStatus::kPass, "enp1s0f1np1 up, MTU 9000"),
      check_of(Level::kLink, {"spark-02"}, CheckStatus::kPass, "enp1s0f1np1 up, MTU 9000"),
      tcp("spark-01", "spark-02", 41.2),
      tcp("spark-02", "spark-01", 43.04),
      skipped(Level::kStorage, {"spark-01"}, "", "no storage declared"),
      skipped(Level::kStorage, {"spark-02"}, "", "no storage declared"),
  };
  report.run.verification_failed = true;
  return report;
}

using test::occurrences;

}  // namespace

TEST_CASE("the texts of a check are cut where they are printed: a node words some of them") {
  VerifyReport report = verify_sample();
  report.checks[0].cause = std::string(1'000'000, 'x');
  report.checks[0].fix = std::string(1'000'000, 'y');
  report.checks[1].text = std::string(1'000'000, 'z');
  const std::string text = to_text(report, {});
  CHECK(text.size() < 10'000);
  CHECK(occurrences(text, " ...\n") == 3);
}

TEST_CASE("a report of checks reads as specified") {
  CHECK(to_text(verify_sample(), {}) ==
        "pass  link     spark-[01-02]  A  enp1s0f1np1 up, MTU 9000\n"
        "pass  tcp      spark-01 -> spark-02, spark-02 -> spark-01  A  TCP, 4 streams: 41.2 to 43.0 Gb/s\n"
        "skip  storage  spark-[01-02]  no storage declared\n"
        "FAIL  mtu      spark-01 -> spark-02  A  largest packet that arrives: 1500 bytes\n"
        "        cause: something <on> the way & \xe2\x90\x9b[31m more\n"
        "        fix: set the MTU of the switch\n"
        "Verify: 4 passed, 1 failed, 2 skipped. 1.50 s\n"
        "tcp A, Gb/s\n"
        "            spark-01  spark-02\n"
        "  spark-01         .      41.2\n"
        "  spark-02      43.0         .\n"
        "0 nodes, half A: 1 check failed; slowest pair spark-01 -> spark-02, 41.2 Gb/s (tcp A)\n");
}

TEST_CASE("no line of a check is wider than the terminal; a line continues below its nodes") {
  TextStyle narrow;
  narrow.width = 60;
  auto report = verify_sample();
  report.checks[0].cause = "no packet gets through; the other direction works: a firewall of the receiver drops them";
  NodeReport lost;
  lost.name = "spark-03";
  lost.status = NodeStatus::kUnreachable;
  lost.error = Error{ErrorCode::kUnreachable, "connect to 10.0.0.13:22: no answer within 10 seconds", {}, {}, "on?"};
  report.run.nodes = {lost};
  const auto text = to_text(report, narrow);
  INFO(text);
  for (const std::string_view line : split_lines(text)) CHECK(text_width(line) <= 60);
  CHECK(text.find("FAIL  mtu      spark-01 -> spark-02  A  largest packet that\n"
                  "               arrives: 1500 bytes\n"
                  "        cause: no packet gets through; the other direction\n"
                  "        works: a firewall of the receiver drops them\n") != std::string::npos);
}

TEST_CASE("with --quiet only passed checks are omitted, and a skip keeps its way out") {
  TextStyle quiet;
  quiet.quiet = true;
  auto report = verify_sample();
  report.checks.back().fix = "declare storage";
  const auto text = to_text(report, quiet);
  CHECK(text.starts_with("skip  storage  spark-01  no storage declared\n"));
  CHECK(text.find("        fix: declare storage\nFAIL  mtu") != std::string::npos);
  CHECK(text.find("pass") == text.find("passed"));
  CHECK(text.find("tcp A, Gb/s") == std::string::npos);
}

TEST_CASE("many pairs are counted, and pairs skipped because of several checks share one line") {
  VerifyReport report;
  for (int from = 1; from <= 4; ++from) {
    for (int to = 1; to <= 4; ++to) {
      if (from == to) continue;
      const std::string a = "spark-0" + std::to_string(from);
      const std::string b = "spark-0" + std::to_string(to);
      report.checks.push_back(skipped(Level::kMtu, {a, b}, "A", ""));
      report.checks.back().block({"link/" + a + "/A failed", "link/" + a + "/A"});
    }
  }
  CHECK(to_text(report, {}).starts_with("skip  mtu      spark-[01-04], 12 pairs  A  a required check failed\n"));
  const auto json = nlohmann::json::parse(public_json(to_json_value(report)));
  CHECK(json.at("checks").at(0).at("blocked_by") == "link/spark-01/A");
}

TEST_CASE("an unreachable node is listed and counted") {
  auto report = verify_sample();
  NodeReport lost;
  lost.name = "spark-03";
  lost.status = NodeStatus::kUnreachable;
  lost.error = Error{ErrorCode::kUnreachable, "no answer", {}, {}, "is it on?"};
  report.run.nodes = {lost};
  const auto text = to_text(report, {});
  CHECK(text.find("! spark-03 unreachable: no answer\n    hint: is it on?\n") != std::string::npos);
  CHECK(text.find("1 node not verified") != std::string::npos);
  CHECK(exit_code(report.run, {}) == ExitCode::kNodeFailed);
  report.run.nodes.clear();
  CHECK(exit_code(report.run, {}) == ExitCode::kVerificationFailed);
  report.run.verification_failed = false;
  CHECK(exit_code(report.run, {}) == ExitCode::kDone);
}

TEST_CASE("the JSON has every check with value, unit and threshold, or null") {
  const auto json = nlohmann::json::parse(public_json(to_json_value(verify_sample())));
  CHECK(json.at("summary") ==
        nlohmann::json::parse(R"({"pass":4,"warn":0,"fail":1,"skip":2,"nodes":0,"nodes_unreachable":0})"));
  const auto& narrow = json.at("checks").at(0);
  CHECK(narrow.at("id") == "mtu/spark-01/spark-02/A");
  CHECK(narrow.at("value") == 1500);
  CHECK(narrow.at("threshold") == 9000);
  CHECK(narrow.at("fix") == "set the MTU of the switch");
  const auto& link = json.at("checks").at(1);
  CHECK(link.at("value").is_null());
  CHECK(link.at("unit").is_null());
  CHECK_FALSE(link.contains("cause"));
}

TEST_CASE("the JSON of the measured sizes of a check fits its schema") {
  VerifyReport report = verify_sample();
  Check& check = report.checks[3];
  check.series = {{1 << 20, 350.5, 2.9, 3, true}, {4 << 20, std::numeric_limits<double>::infinity(), 5.25, 5.5}};
  const auto json = nlohmann::json::parse(public_json(to_json_value(report)));
  CHECK(testing::schema_faults(json, "verify") == "");
  const auto& series = json.at("checks").at(3).at("series");
  REQUIRE(series.size() == 2);
  CHECK(series.at(0) ==
        nlohmann::json::parse(R"({"bytes":1048576,"time_us":350.5,"algbw":2.9,"busbw":3,"placement":"in_place"})"));
  CHECK(series.at(1) == nlohmann::json::parse(
                            R"({"bytes":4194304,"time_us":null,"algbw":5.25,"busbw":5.5,"placement":"out_of_place"})"));
  CHECK_FALSE(json.at("checks").at(4).contains("series"));
  nlohmann::json wrong = json;
  wrong.at("checks").at(3).at("series").at(0).erase("busbw");
  CHECK_FALSE(testing::schema_faults(wrong, "verify") == "");
}

TEST_CASE("the JUnit report counts its cases, and stays valid with any characters") {
  const auto xml = to_junit(verify_sample());
  CHECK(occurrences(xml, "<testcase ") == 7);
  CHECK(occurrences(xml, "<failure ") == 1);
  CHECK(occurrences(xml, "<skipped ") == 2);
  CHECK(xml.find("tests=\"7\" failures=\"1\" errors=\"0\" skipped=\"2\"") != std::string::npos);
  CHECK(xml.find("something &lt;on&gt; the way &amp; ") != std::string::npos);
  CHECK(xml.find('\x1b') == std::string::npos);
}

TEST_CASE("the JUnit report contains only characters that XML 1.0 allows") {
  auto report = verify_sample();
  std::string every;
  for (char32_t c = 0; c <= 0xFFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) append_utf8(every, c);
  }
  report.checks.front().status = CheckStatus::kFail;
  report.checks.front().cause = report.checks.front().text = report.checks.front().fix = every + "\xff";
  const auto xml = to_junit(report);
  for (std::size_t i = 0; i < xml.size();) {
    const CodePoint point = code_point_at(xml, i);
    const char32_t c = point.value;
    // Source: XML 1.0, 2.2, production Char; the only line break in this report is a line feed.
    const bool is_char = c == U'\n' || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) || c >= 0x10000;
    if (!point.valid || !is_char || is_treacherous(c)) FAIL("U+" << std::hex << unsigned{c});
    i += point.length;
  }
}

TEST_CASE("a matrix marks bad values, and shows undirected values in both places") {
  auto bad = tcp("spark-01", "spark-02", 5);
  bad.status = CheckStatus::kFail;
  auto weak = tcp("spark-02", "spark-01", 50);
  weak.status = CheckStatus::kWarn;
  auto broken = tcp("spark-01", "spark-03", 0);
  broken.value.reset();
  broken.status = CheckStatus::kFail;
  CHECK(matrices({bad, weak, broken}) ==
        "tcp A, Gb/s\n"
        "            spark-01  spark-02  spark-03\n"
        "  spark-01         .        5!         x\n"
        "  spark-02       50~         .          \n"
        "  spark-03         x                   .\n");
  CHECK(matrices({broken}).empty());
}

}  // namespace sparkplan
