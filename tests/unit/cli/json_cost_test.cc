// The memory that JSON on standard output costs, measured in a separate process.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/cli/commands/job_commands.h"
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

template <class Print>
bool print_to_nothing(Print print_with) {
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDOUT_FILENO) < 0 || ::dup2(nothing, STDERR_FILENO) < 0) return false;
  const auto console = Console::open(0, true, true, "");
  if (!console) return false;
  print_with(*console);
  return console->check_output().has_value();
}

/// Takes 2 MB of output from each of 64 ranks of a node, and prints the outcome as JSON.
bool print_outputs_of_ranks(const Console& console) {
  constexpr int kRanks = 64;
  NodeJob job;
  JobReport report;
  report.nodes.emplace_back().name = "spark-01";
  for (int rank = 0; rank < kRanks; ++rank) {
    job.start.ranks.push_back({rank, {"a"}, {}});
    report.nodes.back().ranks.emplace_back().rank = rank;
  }
  const std::vector<NodeJob> jobs{job};
  auto outputs = JobOutputs::open("", true, jobs, console);
  if (!outputs) return false;
  const std::string piece(100'000, '\x7f');
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < 20; ++i) {
      if (!outputs->output().take({0, rank, false}, piece)) return false;
    }
  }
  outputs->add_to(report);
  finish_job(std::move(report), true, console);
  return true;
}

}  // namespace

TEST_CASE("JSON of drift and apply is printed without holding its whole text") {
  const Report report = report_of_escaped_text();
  const auto cost = test::cost_of(
      [&] { return print_to_nothing([&](const Console& console) { print(report, LoadedCluster{}, true, console); }); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("JSON of exec and run holds few megabytes of a node, also if each of its 64 ranks prints without end") {
  bool is_printed = false;
  const auto cost = test::cost_of([&] {
    return print_to_nothing([&](const Console& console) { is_printed = print_outputs_of_ranks(console); }) &&
           is_printed;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

}  // namespace sparkplan
