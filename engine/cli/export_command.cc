#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/core/text.h"
#include "engine/export/export.h"

namespace sparkplan {

int run_export(const ExportOptions& options, Console& console) {
  if (options.format.empty()) {
    console.error(
        {ErrorCode::kInvalidInput, "which tool's format?", {}, {}, "--format " + join(export_formats(), ", ")});
    return 1;
  }
  const auto input = load_for("export", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto text = export_cluster(*input.loaded->cluster, options.format, builtin_registry());
  if (!text) {
    console.error(text.error());
    return 1;
  }
  console.result(*text);
  return 0;
}

}  // namespace sparkplan
