// facts: everything that sparkplan reads from nodes.
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/core/value.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/plan/reach.h"
#include "engine/report/nodes/facts_report.h"

namespace sparkplan {
namespace {

/// Frees the facts of each node once they are a Value, so that the memory does not hold them twice.
Value json_of(FleetSession& session) {
  Value nodes{Value::List{}};
  for (auto& node : session.nodes()) {
    if (node.skipped || node.error) continue;
    const Facts facts = std::exchange(node.known, {}).facts;
    Value one = Value::map({{"name", node.name()}});
    one.set("facts", encode(facts));
    nodes.push_back(std::move(one));
  }
  Value all = Value::map({{"format_version", "1.0"}});
  all.set("nodes", std::move(nodes));
  return all;
}

/// One node in full, several compared.
std::string text_of(const std::vector<NodeFacts>& read, const TextStyle& style) {
  if (read.empty()) return "";
  if (read.size() == 1) return facts_text(read.front(), style);
  return facts_comparison(read, style) + "One node in full: sparkplan facts " + printable(read.front().name) +
         ". Everything: sparkplan facts --json\n";
}

}  // namespace

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
  std::vector<NodeTrouble> errors;
  ExitCode code = ExitCode::kDone;
  for (const auto& node : session.nodes()) {
    if (node.skipped) continue;
    const auto& name = node.spec->name.str();
    if (node.error) {
      errors.push_back(trouble_of(name, shown_address(*node.spec), *node.error));
      code = ExitCode::kNodeFailed;
    } else {
      read.push_back({name, &node.known.facts});
    }
  }
  console.errors(errors);
  if (options.json) {
    console.result_json(json_of(session));
  } else {
    console.result(text_of(read, console.style()));
  }
  return code;
}

}  // namespace sparkplan
