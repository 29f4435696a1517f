#include <utility>

#include "engine/cli/commands/changing_run.h"
#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/verify_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/input/saved_plan_file.h"
#include "engine/cli/input/secret_values.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/plan/saved_plan_text.h"
#include "engine/report/text/local_time.h"

namespace sparkplan {
namespace {

/// Combines the outcomes of the apply and of the checks after it in one report, and returns its exit code.
ExitCode exit_code_with(const std::optional<VerifyReport>& verified, Report applied) {
  if (!verified) return exit_code(applied);
  applied.verification_failed = verified->run.verification_failed;
  for (const NodeReport& node : verified->run.nodes) {
    if (node.error) applied.nodes.push_back(node);
  }
  return exit_code(applied);
}

}  // namespace

Result<ExitCode> run_apply(const ApplyCommandOptions& options, const GlobalOptions& global, Console& console) {
  ChangingRun run{"apply", "Apply these changes?", options.yes, options.json, options.selection, "--exclude"};
  SPARK_CHECK(can_ask(run, console));
  const Interrupts interrupts(console);
  auto saved = open_saved_plan(cluster_file(options.file), options.signer);
  if (!saved) {
    console.error(saved.error());
    return exit_code_of_plan(saved.error());
  }
  const bool selects = !options.selection.only.empty() || !options.selection.exclude.empty();
  if (*saved && selects) {
    return failure(ErrorCode::kInvalidInput,
                   "a saved plan is applied as a whole: give --only and --exclude to `sparkplan plan -o` instead");
  }
  if (*saved && !(*saved)->signature.empty()) console.remark((*saved)->signature);
  auto input = *saved ? take_from_plan("apply", std::move((*saved)->loaded), options.json, console)
                      : load_to_run("apply", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  SPARK_TRY(ApplyOptions apply, apply_options(options.safety));
  if (*saved) {
    const SavedPlan& plan = (*saved)->plan;
    run.selection = {plan.only, plan.exclude};
    run.exclusion = "sparkplan plan -o FILE --exclude";
    run.question =
        "Apply these changes of plan " + plan.id + ", made " + local_time_text(plan.created, local_clock()) + "?";
    apply.saved_plan = &plan;
    if (!options.yes)
      console.question(introduction(plan, *input.loaded->cluster, builtin_registry(), console.question_style()));
  }
  const auto secrets = read_secrets({"apply", run.selection, options.json, saved->has_value() && !options.yes},
                                    *input.loaded, interrupts.token(), console);
  if (secrets.exit_code) return *secrets.exit_code;
  run.secrets = secrets.secrets;
  run.reports_content = true;
  apply.allow_prune = options.yes_prune;
  apply.all_or_nothing = options.all_or_nothing;
  apply.lock_timeout = options.lock_timeout;
  std::optional<VerifyReport> verified;
  if (options.verify) {
    run.verify_after = [&](const Report& outcome, const AgentOptions& login) -> std::optional<Value> {
      if (exit_code(outcome) != ExitCode::kDone || outcome.interrupted) {
        console.remark("Not verified: the apply did not succeed.");
        return std::nullopt;
      }
      auto report = verify(*input.loaded, run.selection, LevelChoice{}, global, interrupts, console, &login);
      if (!report) {
        console.error(report.error());
        return std::nullopt;
      }
      verified = std::move(*report);
      console.diagnostics(verified->run.diagnostics, input.loaded->source);
      if (!options.json) console.result(to_text(*verified, console.style()));
      return to_json_value(*verified);
    };
  }
  SPARK_TRY(const auto report, carry_out(run, std::move(apply), *input.loaded, global, interrupts, console));
  return report ? exit_code_with(verified, *report) : ExitCode::kUsage;
}

}  // namespace sparkplan
