#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/core/text.h"
#include "engine/export/export.h"

namespace sparkplan {

Result<ExitCode> run_export(const ExportOptions& options, Console& console) {
  if (options.format.empty()) {
    return failure(ErrorCode::kInvalidInput, "which tool's format?", "--format " + join(export_formats(), ", "));
  }
  const auto input = load_for("export", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  SPARK_TRY(const auto text, export_cluster(*input.loaded->cluster, options.format, builtin_registry()));
  console.result(text);
  return ExitCode::kDone;
}

}  // namespace sparkplan
