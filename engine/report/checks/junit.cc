#include <fmt/core.h>

#include "engine/core/text.h"
#include "engine/report/checks/check_report.h"

namespace sparkplan {
namespace {

/// printable() already removes all characters that XML 1.0 forbids: controls, U+FFFE and U+FFFF.
std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string details_of(const Check& check) {
  std::string text = check.text;
  if (check.value) text += fmt::format("\nvalue: {} {}", *check.value, check.unit);
  if (check.threshold) text += fmt::format("\nthreshold: {} {}", *check.threshold, check.unit);
  if (!check.fix.empty()) text += "\nfix: " + check.fix;
  std::string safe;
  for (const auto line : split_lines(text)) safe += xml_escaped(line) + "\n";
  return safe;
}

std::string case_of(const Check& check) {
  const std::string head = fmt::format("    <testcase classname=\"sparkplan.{}\" name=\"{}\" time=\"0\">\n",
                                       to_string(check.level), xml_escaped(check.id));
  std::string body;
  if (check.status == CheckStatus::kFail) {
    body = fmt::format("      <failure message=\"{}\">{}</failure>\n", xml_escaped(check.cause), details_of(check));
  } else if (check.status == CheckStatus::kSkip) {
    body = fmt::format("      <skipped message=\"{}\"/>\n", xml_escaped(check.cause));
  } else {
    const std::string warning = check.status == CheckStatus::kWarn ? "warning: " + xml_escaped(check.cause) + "\n" : "";
    body = "      <system-out>" + warning + details_of(check) + "</system-out>\n";
  }
  return head + body + "    </testcase>\n";
}

/// A lost node is a separate failed case: no level contains it.
std::string case_of(const NodeReport& node) {
  return fmt::format(
      "    <testcase classname=\"sparkplan.connection\" name=\"connection/{}\" time=\"0\">\n"
      "      <error message=\"{}\"/>\n    </testcase>\n",
      xml_escaped(node.name), xml_escaped(node.error->describe()));
}

struct Suite {
  std::string cases;
  std::size_t tests = 0, failures = 0, skipped = 0, errors = 0;

  std::string text(std::string_view name) const {
    if (tests == 0) return "";
    return fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n", name,
        tests, failures, errors, skipped, cases);
  }
};

}  // namespace

std::string to_junit(const VerifyReport& report) {
  std::string suites;
  Suite connections;
  for (const NodeReport& node : report.run.nodes) {
    if (!node.error) continue;
    connections.cases += case_of(node);
    ++connections.tests;
    ++connections.errors;
  }
  suites += connections.text("connection");
  for (const Level level : all_levels()) {
    Suite suite;
    for (const Check& check : report.checks) {
      if (check.level != level) continue;
      suite.cases += case_of(check);
      ++suite.tests;
      if (check.status == CheckStatus::kFail) ++suite.failures;
      if (check.status == CheckStatus::kSkip) ++suite.skipped;
    }
    suites += suite.text(to_string(level));
  }
  const StatusCounts counts = count_by_status(report.checks);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sparkplan verify {}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}</testsuites>\n",
      xml_escaped(report.run.cluster), report.checks.size() + connections.tests, counts.fail, connections.errors,
      counts.skip, report.run.duration.count(), suites);
}

}  // namespace sparkplan
