#include <utility>

#include "engine/cli/changing_run.h"
#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"

namespace sparkplan {

int run_apply(const ApplyCommandOptions& options, const GlobalOptions& global, Console& console) {
  const ChangingRun run{"apply", "Apply these changes?", options.yes, options.json, options.selection, {}};
  if (!can_ask(run, console)) return 1;
  const Interrupts interrupts(console);
  const auto input = load_to_run("apply", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  ApplyOptions apply;
  apply.allow_prune = options.yes_prune;
  apply.all_or_nothing = options.all_or_nothing;
  apply.lock_timeout = options.lock_timeout;
  const auto report = carry_out(run, std::move(apply), *input.loaded, global, interrupts, console);
  return report ? exit_code(*report, ExitRules{}) : 1;
}

}  // namespace sparkplan
