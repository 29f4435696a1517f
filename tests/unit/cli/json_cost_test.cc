// The memory that JSON on standard output costs, measured in a separate process.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "engine/cli/output/printing.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

/// A node's text of 6 MB in characters that JSON writes with six bytes each.
Report report_of_escaped_text() {
  Change change;
  change.id = {"file", "/etc/a"};
  change.origin = Origin::kDrift;
  change.fields.push_back({"content", std::string(6'000'000, '\x7f'), "a"});
  Report report;
  report.command = "drift";
  report.nodes.emplace_back().name = "spark-01";
  report.nodes.back().plan.changes.push_back(std::move(change));
  return report;
}

bool print_to_nothing(const Report& report) {
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDOUT_FILENO) < 0) return false;
  const auto console = Console::open(0, true, true, "");
  if (!console) return false;
  print(report, LoadedCluster{}, true, *console);
  return console->check_output().has_value();
}

}  // namespace

TEST_CASE("JSON of drift and apply is printed without holding its whole text") {
  const Report report = report_of_escaped_text();
  const auto cost = test::cost_of([&] { return print_to_nothing(report); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

}  // namespace sparkplan
