// validate, status, facts, schema, types, version: commands that only print.
#include <fmt/format.h>

#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/cli/printing.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/remote/agent_image.h"

namespace sparkplan {
namespace {

std::string status_line(const NodeReport& report, const NodeRun& node) {
  std::string text =
      fmt::format("{:<16} {:<12} {:<8}", report.name, to_string(report.status), to_string(report.membership));
  if (report.error) return text + " " + printable(report.error->describe());
  if (node.skipped) return text + (node.spec->maintenance ? " maintenance" : "");
  if (node.not_contacted) return text + " not contacted";
  const auto& facts = node.known.facts;
  text += fmt::format(" {:<28}", printable(facts.os_name));
  if (node.known.manifest) {
    text += fmt::format(" generation {}, {}, last run {}", node.known.manifest->roster.generation,
                        counted(node.known.manifest->resources.size(), "resource"),
                        printable(node.known.manifest->last_run_time));
  } else {
    text += " never applied";
  }
  if (!report.lock_holder.empty()) text += ", locked by " + printable(report.lock_holder);
  return text;
}

/// One line per fact, and one per item of a list: "host.bios_date  2026-04-02".
std::string facts_lines(const std::string& prefix, const Value& facts) {
  std::string text;
  for (const auto& [key, value, where] : *facts.entries()) {
    if (value.is_map()) {
      text += facts_lines(prefix + key + ".", value);
    } else if (value.list_items() == nullptr) {
      text += fmt::format("  {:<28} {}\n", printable(prefix + key), display(value));
    } else {
      for (const auto& item : *value.list_items()) {
        text += fmt::format("  {:<28} {}\n", printable(prefix + key), display(item));
      }
    }
  }
  return text;
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

Result<ExitCode> run_status(const std::string& file, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_to_run("status", file, false, console);
  if (!input.loaded) return input.exit_code;
  SPARK_TRY(auto options, run_options("status", *input.loaded->cluster, {}, global, interrupts.token()));
  options.agent.install = InstallPolicy::kNever;
  ProgressDisplay progress(console, *input.loaded->cluster);
  options.progress = progress.listener();
  ClusterRun run(*input.loaded->cluster, builtin_registry(), std::move(options));
  const auto report = run.plan();
  progress.clear();
  console.diagnostics(report.diagnostics, input.loaded->source);
  for (std::size_t i = 0; i < report.nodes.size(); ++i) {
    static const NodeRun nobody;
    console.result(status_line(report.nodes[i], i < run.nodes().size() ? run.nodes()[i] : nobody) + "\n");
  }
  return exit_code(report);
}

Result<ExitCode> run_facts(const FactsOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_for("facts", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  SelectionOptions selection;
  if (!options.node.empty()) selection.only.push_back(options.node);
  SPARK_TRY(auto run_with, run_options("facts", *input.loaded->cluster, selection, global, interrupts.token()));
  run_with.extended = true;
  run_with.agent.install = InstallPolicy::kExactBuild;
  ProgressDisplay progress(console, *input.loaded->cluster);
  run_with.progress = progress.listener();
  ClusterRun run(*input.loaded->cluster, builtin_registry(), std::move(run_with));
  run.open();
  progress.clear();
  Value::List nodes;
  std::string text;
  ExitCode code = ExitCode::kDone;
  for (const auto& node : run.nodes()) {
    if (node.skipped) continue;
    const auto& name = node.spec->name.str();
    if (node.error) {
      console.error(Error(*node.error).within(name));
      code = ExitCode::kNodeFailed;
      continue;
    }
    auto facts = encode(node.known.facts);
    text += name + "\n" + facts_lines("", facts);
    nodes.push_back(Value::map({{"name", name}, {"facts", std::move(facts)}}));
  }
  if (options.json) {
    text = public_json(Value::map({{"format_version", "1.0"}, {"nodes", Value(std::move(nodes))}})) + "\n";
  }
  console.result(text);
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

Result<ExitCode> run_version(Console& console) {
  console.result("sparkplan " SPARKPLAN_VERSION "\n");
  for (const auto& architecture : agent_architectures()) {
    console.result(fmt::format("agent {} {}\n", architecture, agent_image(architecture)->build));
  }
  return ExitCode::kDone;
}

}  // namespace sparkplan
