#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/cli/commands.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/fleet/cluster_run.h"
#include "engine/load/load.h"

namespace sparkplan {

/// A command that changes nodes: its name, and its question.
struct ChangingRun {
  std::string command;  ///< "apply", "release"
  std::string question;
  bool yes = false;  ///< Do not ask.
  bool json = false;
  SelectionOptions selection;
  /// False: the plan is not what was asked for, and nothing is done. Empty: every plan is.
  std::function<bool(const Report& plan)> is_meant;
  /// Called with the outcome, after its text is printed and before its JSON is. Its value becomes "verification" in the
  /// JSON. Empty: nothing is verified.
  std::function<std::optional<Value>(const Report& outcome)> verify_after = {};
};

/// Errors: kInvalidInput when there is neither --yes nor a terminal to ask on.
Result<void> can_ask(const ChangingRun& run, const Console& console);

/// Errors: kInvalidInput for a window that is too short or too long.
Result<ApplyOptions> apply_options(const SafetyOptions& safety);

/// Plans, asks, carries out, prints the outcome and leaves the audit line. Nothing when the answer was no.
/// Errors: those of run_options().
Result<std::optional<Report>> carry_out(const ChangingRun& run, ApplyOptions options, const LoadedCluster& loaded,
                                        const GlobalOptions& global, const Interrupts& interrupts, Console& console);

}  // namespace sparkplan
