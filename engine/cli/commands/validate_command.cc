// validate: checks a file, and contacts no node.
#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/printing.h"
#include "engine/core/text.h"

namespace sparkplan {

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
    console.result(printable(cluster.file) + " is valid: name " + printable(cluster.name) + ", " +
                   counted(cluster.nodes.size(), "node") + "\n");
  }
  return ExitCode::kDone;
}

}  // namespace sparkplan
