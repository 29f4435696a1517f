// validate, status, facts, schema, types, version: commands that only print.
#include <fmt/format.h>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/status_run.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/report/nodes/facts_report.h"
#include "engine/report/nodes/status_report.h"

namespace sparkplan {
namespace {

std::string json_of(const std::vector<NodeFacts>& read) {
  Value nodes{Value::List{}};
  for (const NodeFacts& node : read) {
    nodes.push_back(Value::map({{"name", node.name}, {"facts", encode(*node.facts)}}));
  }
  return public_json(Value::map({{"format_version", "1.0"}, {"nodes", std::move(nodes)}})) + "\n";
}

/// One node in full, several compared.
std::string text_of(const std::vector<NodeFacts>& read, const TextStyle& style) {
  if (read.empty()) return "";
  if (read.size() == 1) return facts_text(read.front(), style);
  return facts_comparison(read, style) + "One node in full: sparkplan facts " + printable(read.front().name) +
         ". Everything: sparkplan facts --json\n";
}

}  // namespace

Result<ExitCode> run_validate(const ValidateOptions& options, const GlobalOptions&, Console& console) {
  auto input = load_for("validate", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  if (options.json) {
    Report report;
    report.command = "validate";
    report.cluster = cluster.name;
    report.config_digest = cluster.config_digest;
    report.diagnostics = input.loaded->diagnostics;
    print_json(report, console);
  } else if (!console.quiet()) {
    console.result(printable(cluster.file) + " is valid: cluster " + printable(cluster.name) + ", " +
                   counted(cluster.nodes.size(), "node") + "\n");
  }
  return ExitCode::kDone;
}

Result<ExitCode> run_status(const StatusOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_to_run("status", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  SPARK_TRY(auto run, run_options("status", *input.loaded->cluster, {}, global, interrupts.token(), console));
  ProgressDisplay progress(console, *input.loaded->cluster);
  run.progress = progress.listener();
  auto content_run = run;
  content_run.agent.install = InstallPolicy::kNever;
  auto report = cluster_status(*input.loaded->cluster, builtin_registry(), std::move(run));
  add_content_of(*input.loaded->cluster, std::move(content_run), report.run);
  progress.clear();
  console.diagnostics(report.run.diagnostics, input.loaded->source);
  console.result(options.json ? public_json(to_json_value(report)) + "\n"
                              : to_text(report, local_clock(), console.style()));
  return exit_code(report.run);
}

Result<ExitCode> run_facts(const FactsOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_for("facts", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  SelectionOptions selection;
  if (!options.node.empty()) selection.only.push_back(options.node);
  SPARK_TRY(auto run_with,
            run_options("facts", *input.loaded->cluster, selection, global, interrupts.token(), console));
  run_with.extended = true;
  run_with.agent.install = InstallPolicy::kExactBuild;
  ProgressDisplay progress(console, *input.loaded->cluster);
  run_with.progress = progress.listener();
  FleetSession session(*input.loaded->cluster, builtin_registry(), std::move(run_with));
  session.open();
  progress.clear();
  std::vector<NodeFacts> read;
  ExitCode code = ExitCode::kDone;
  for (const auto& node : session.nodes()) {
    if (node.skipped) continue;
    const auto& name = node.spec->name.str();
    if (node.error) {
      console.error(Error(*node.error).within(name));
      code = ExitCode::kNodeFailed;
    } else {
      read.push_back({name, &node.known.facts});
    }
  }
  console.result(options.json ? json_of(read) : text_of(read, console.style()));
  return code;
}

Result<ExitCode> run_schema(Console& console) {
  console.result(cluster_schema(builtin_registry()));
  return ExitCode::kDone;
}

Result<ExitCode> run_types(Console& console) {
  for (const auto& type : builtin_registry().types()) {
    const auto& info = type->info();
    console.result(fmt::format("{:<14} {:<14} {}\n", info.name, info.section + ":", info.summary));
    for (const auto& file : info.files) console.result(fmt::format("{:<14} {:<14} {}\n", "", "", file));
  }
  return ExitCode::kDone;
}

std::string version_text() {
  std::string text = "sparkplan " SPARKPLAN_VERSION;
  for (const auto& architecture : agent_architectures()) {
    text += fmt::format("\nagent {} {}", architecture, agent_image(architecture)->build);
  }
  return text;
}

Result<ExitCode> run_version(Console& console) {
  console.result(version_text() + "\n");
  return ExitCode::kDone;
}

}  // namespace sparkplan
