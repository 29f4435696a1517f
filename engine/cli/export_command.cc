#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/core/text.h"
#include "engine/export/export.h"
#include "engine/fleet/selection.h"

namespace sparkplan {

Result<ExitCode> run_export(const ExportOptions& options, Console& console) {
  if (options.format.empty()) {
    return failure(ErrorCode::kInvalidInput, "no format given", "name one: --format " + join(export_formats(), ", "));
  }
  const auto input = load_for("export", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const Cluster& cluster = *input.loaded->cluster;
  const Selection selection(options.selection.only, options.selection.exclude);
  SPARK_CHECK(selection.check(cluster, builtin_registry()));
  SPARK_TRY(const ExportedText exported,
            export_cluster(cluster, options.format, builtin_registry(),
                           [&](const NodeSpec& node) { return selection.includes_node(node.name.str()); }));
  for (const std::string& remark : exported.remarks) console.remark(remark);
  console.result(exported.text);
  return ExitCode::kDone;
}

}  // namespace sparkplan
