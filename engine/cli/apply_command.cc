#include <utility>

#include "engine/cli/changing_run.h"
#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/cli/saved_plan_file.h"
#include "engine/cli/verify_command.h"
#include "engine/plan/saved_plan_text.h"

namespace sparkplan {
namespace {

/// The code is that of the apply and of what was measured after it, by the one order of them.
int exit_code_of(Report applied, const std::optional<VerifyReport>& verified) {
  if (!verified) return exit_code(applied, ExitRules{});
  applied.verification_failed = verified->run.verification_failed;
  for (const NodeReport& node : verified->run.nodes) {
    if (node.error) applied.nodes.push_back(node);
  }
  return exit_code(applied, ExitRules{});
}

}  // namespace

int run_apply(const ApplyCommandOptions& options, const GlobalOptions& global, Console& console) {
  ChangingRun run{"apply", "Apply these changes?", options.yes, options.json, options.selection, {}};
  if (!can_ask(run, console)) return 1;
  const Interrupts interrupts(console);
  auto saved = open_saved_plan(cluster_file(options.file), options.signer);
  if (!saved) {
    console.error(saved.error());
    return exit_code_of_plan(saved.error());
  }
  const bool selects = !options.selection.only.empty() || !options.selection.exclude.empty();
  if (*saved && selects) {
    console.error(Error{ErrorCode::kInvalidInput,
                        "a saved plan is applied as a whole: --only and --exclude are given when it is made",
                        {},
                        std::nullopt,
                        ""});
    return 1;
  }
  if (*saved && !(*saved)->signature.empty()) console.remark((*saved)->signature);
  const auto input = *saved ? take_from_plan("apply", std::move((*saved)->loaded), options.json, console)
                            : load_to_run("apply", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  ApplyOptions apply;
  if (*saved) {
    const SavedPlan& plan = (*saved)->plan;
    run.selection = {plan.only, plan.exclude};
    run.question = "Apply these changes of plan " + plan.id + ", made at " + plan.created + "?";
    apply.saved_plan = &plan;
    if (!options.yes)
      console.question(introduction(plan, *input.loaded->cluster, builtin_registry(), console.question_style()));
  }
  if (!take_safety(options.safety, apply, console)) return 1;
  apply.allow_prune = options.yes_prune;
  apply.all_or_nothing = options.all_or_nothing;
  apply.lock_timeout = options.lock_timeout;
  std::optional<VerifyReport> verified;
  if (options.verify) {
    run.look_deeper = [&](const Report& outcome) -> std::optional<Value> {
      if (exit_code(outcome, ExitRules{}) != 0 || outcome.interrupted) {
        console.remark("Not verified: the apply did not succeed.");
        return std::nullopt;
      }
      verified = run_levels(*input.loaded, run.selection, all_levels(), global, interrupts, console);
      if (!verified) return std::nullopt;
      console.diagnostics(verified->run.diagnostics, input.loaded->source);
      if (!options.json) console.result(to_text(*verified, console.style()));
      return to_json_value(*verified);
    };
  }
  const auto report = carry_out(run, std::move(apply), *input.loaded, global, interrupts, console);
  return report ? exit_code_of(*report, verified) : 1;
}

}  // namespace sparkplan
