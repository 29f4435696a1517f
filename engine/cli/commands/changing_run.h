#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/fleet/apply/apply_run.h"
#include "engine/load/load.h"

namespace sparkplan {

/// A command that changes nodes: its name and its confirmation question.
struct ChangingRun {
  std::string command;  ///< "apply", "release"
  std::string question;
  bool yes = false;  ///< Do not ask.
  bool json = false;
  SelectionOptions selection = {};
  std::string exclusion = {};  ///< RunOptions::exclusion.
  /// Called with the outcome before anything of it is printed or logged. An error takes its place: the run has done
  /// nothing, because the user named something that does not exist. Empty: every outcome is printed.
  std::function<Result<void>(const Report& outcome)> check = {};
  /// Called with the outcome after its text is printed and before its JSON is printed. The returned value becomes
  /// "verification" in the JSON. Empty: nothing is verified.
  /// `login`: the login of the run, which has asked for passwords and passphrases.
  std::function<std::optional<Value>(const Report& outcome, const AgentOptions& login)> verify_after = {};
  std::shared_ptr<const ClusterSecrets> secrets = nullptr;  ///< Null: the cluster has none.
  bool reports_content = false;                             ///< The report also lists the content that nodes lack.
};

/// Errors: kInvalidInput if --yes is missing and there is no terminal to ask on.
Result<void> can_ask(const ChangingRun& run, const Console& console);

/// Errors: kInvalidInput for a window that is too short or too long.
Result<ApplyOptions> apply_options(const SafetyOptions& safety);

/// Plans, asks the user, applies, prints the outcome and writes the audit line. Nothing if the user answered no.
/// Errors: those of run_options() and of ChangingRun::check.
Result<std::optional<Report>> carry_out(const ChangingRun& run, ApplyOptions options, const LoadedCluster& loaded,
                                        const GlobalOptions& global, const Interrupts& interrupts, Console& console);

}  // namespace sparkplan
