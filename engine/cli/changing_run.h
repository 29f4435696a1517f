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

/// A command that changes nodes: what it is called, and what it asks before.
struct ChangingRun {
  std::string command;  ///< "apply", "release"
  std::string question;
  bool yes = false;  ///< Do not ask.
  bool json = false;
  SelectionOptions selection;
  /// False: the plan is not what was asked for, and nothing is done. Empty: it always is.
  std::function<bool(const Report& plan)> is_meant;
  /// Called with the outcome, after its text is printed and before its JSON is, which gets what it returns
  /// as "verification". Empty: nothing more is looked at.
  std::function<std::optional<Value>(const Report& outcome)> look_deeper = {};
};

/// False, told on standard error, when there is neither --yes nor a terminal to ask on.
bool can_ask(const ChangingRun& run, const Console& console);

/// Puts what the user said of safety into `apply`. False, told on standard error, when it makes no sense.
bool take_safety(const SafetyOptions& safety, ApplyOptions& apply, const Console& console);

/// Plans, asks, carries out, prints the outcome and leaves the audit line. Nothing when the answer was
/// no or the options do not fit the cluster, which has been told then: exit 1.
std::optional<Report> carry_out(const ChangingRun& run, ApplyOptions options, const LoadedCluster& loaded,
                                const GlobalOptions& global, const Interrupts& interrupts, Console& console);

}  // namespace sparkplan
