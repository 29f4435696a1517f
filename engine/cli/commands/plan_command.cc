#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/input/saved_plan_file.h"
#include "engine/cli/input/secret_values.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/output/report_file.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/fleet/session/node_snapshot.h"
#include "engine/report/plan/plan_markdown.h"

namespace sparkplan {
namespace {

constexpr std::string_view kText = "text";
constexpr std::string_view kJson = "json";
constexpr std::string_view kMarkdown = "markdown";

/// The result without the data of the nodes, which take a multiple of its memory.
struct Planned {
  Report report;
  Result<SavedPlan> saved;  ///< Without the report.
  std::vector<NodeSnapshot> snapshots;
};

Planned plan_nodes(const Cluster& cluster, RunOptions run) {
  FleetSession session(cluster, builtin_registry(), std::move(run), {.plans = true});
  PlanRun planning(session, false, Foresight::kAsked);
  planning.plan();
  return {planning.take_report(), planning.save({}), snapshots_of(session)};
}

Result<void> save(SavedPlan plan, const PlanOptions& options, const LoadedCluster& loaded, const Console& console) {
  if (plan.report.interrupted) {
    return failure(ErrorCode::kInterrupted, "an interrupted plan is not saved");
  }
  plan.sparkplan_version = SPARKPLAN_VERSION;
  plan.source = loaded.source;
  plan.beside = loaded.beside;
  plan.only = options.selection.only;
  plan.exclude = options.selection.exclude;
  SPARK_CHECK(write_saved_plan(options.output, std::move(plan)));
  const auto shown = printable(options.output);
  console.remark("Saved as " + shown + ". To apply exactly this plan: sparkplan apply " + shown);
  return {};
}

/// Errors: kInvalidInput if --json contradicts --format.
Result<std::string> format_of(const PlanOptions& options) {
  if (!options.json) return options.format.empty() ? std::string(kText) : options.format;
  if (options.format.empty() || options.format == kJson) return std::string(kJson);
  return failure(ErrorCode::kInvalidInput, "--json and --format " + options.format + " contradict each other",
                 "give one of them");
}

/// The text has only the findings of the nodes. In JSON and markdown, the findings of the file come before these.
/// Afterwards `report` has both, too.
void print_as(const std::string& format, Report& report, const LoadedCluster& loaded, const Console& console) {
  console.diagnostics(report.diagnostics, loaded.source);
  if (format == kText) console.result(to_text(report, console.style()));
  report = with_findings(std::move(report), loaded);
  if (format == kJson) console.result_json(to_json_value(report));
  if (format == kMarkdown) console.result(to_markdown(report, *loaded.cluster));
}

}  // namespace

std::vector<std::string> plan_formats() { return {std::string(kText), std::string(kJson), std::string(kMarkdown)}; }

Result<ExitCode> run_plan(const PlanOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  SPARK_TRY(const std::string format, format_of(options));
  SPARK_CHECK(check_report_path(options.report));
  SPARK_CHECK(check_different_files(options.output, options.report, "-o and --report"));
  const bool json = format == kJson;
  auto input = load_to_run("plan", options.file, json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("plan", cluster, options.selection, global, interrupts.token(), console));
  if (!options.output.empty()) SPARK_CHECK(check_plan_destination(options.output));
  run.contact_departing = options.yes_prune;
  const auto secrets =
      read_secrets({"plan", options.selection, json, false}, *input.loaded, interrupts.token(), console);
  if (secrets.exit_code) return *secrets.exit_code;
  run.secrets = secrets.secrets;
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  const auto content_run = run;
  auto [report, saved, snapshots] = plan_nodes(cluster, std::move(run));
  add_content_of(cluster, content_run, report);
  progress.clear();
  const auto code = exit_code(report, ExitRules{options.detailed_exit_code, false, false});
  print_as(format, report, *input.loaded, console);
  const bool wants_page = !options.report.empty();
  std::string page;
  // The plan first: what is applied later must not be lost with a page.
  if (!options.output.empty()) {
    SPARK_TRY(auto plan, std::move(saved));
    if (wants_page) page = to_html(report, snapshots, page_context(*input.loaded));
    plan.report = std::move(report);
    SPARK_CHECK(save(std::move(plan), options, *input.loaded, console));
  } else if (wants_page) {
    page = to_html(std::move(report), snapshots, page_context(*input.loaded));
  }
  if (wants_page) SPARK_CHECK(write_report(options.report, page));
  return code;
}

}  // namespace sparkplan
