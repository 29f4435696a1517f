#include "engine/cli/commands/commands.h"
#include "engine/cli/input/saved_plan_file.h"
#include "engine/report/plan/saved_plan_text.h"

namespace sparkplan {

Result<ExitCode> run_show(const ShowOptions& options, Console& console) {
  const auto opened = open_saved_plan(options.file, options.signer);
  if (!opened) {
    console.error(opened.error());
    return exit_code_of_plan(opened.error());
  }
  if (!*opened) {
    return failure(why_no_saved_plan(options.file));
  }
  const auto& [saved, loaded, signature] = **opened;
  if (!signature.empty()) console.remark(signature);
  if (options.json) {
    console.result_json(to_json_value(saved, *loaded.cluster));
    return ExitCode::kDone;
  }
  console.diagnostics(saved.report.diagnostics, saved.source);
  console.result(to_text(saved, *loaded.cluster, builtin_registry(), console.style()));
  return ExitCode::kDone;
}

}  // namespace sparkplan
