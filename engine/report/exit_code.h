#pragma once

#include <set>

#include "engine/launch/job_report.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// The exit status of the program. docs/commands.md has the contract.
enum class ExitCode : int {
  kDone = 0,
  kUsage = 1,      ///< Wrong usage, a refused question, a lost result, or a broken invariant.
  kDifferent = 2,  ///< Changes, drift or pending changes, if the command was asked to report them with this code.
  kInvalidFile = 3,
  kNodeFailed = 4,  ///< A node failed or is unreachable.
  kStale = 5,       ///< A saved plan no longer fits the nodes.
  kLocked = 6,
  kRolledBack = 7,
  kVerificationFailed = 8,  ///< A check of `verify` or a row of `doctor` failed.
  kRefused = 9,             ///< A safety rule.
  kCommandFailed = 10,      ///< A command that `exec` or `run` started failed, or was ended.
};

struct ExitRules {
  bool changes_are_2 = false;  ///< plan --detailed-exitcode
  bool drift_is_2 = false;     ///< drift
  bool pending_is_2 = false;   ///< drift --pending
};

/// The first that applies of 1, 3, 7, 9, 4, 6, 5, 8, 10, 2, 0. 0 never follows a failure. The code of an error decides,
/// also for a blocked resource. Without an error, kNodeFailed means:
/// - a failed or unreachable node;
/// - a change of an apply that failed or was not done;
/// - a resource that a complete apply left waiting.
/// An interrupted run is kNodeFailed if it left changes undone, else kDone.
ExitCode exit_code(const Report& report, const ExitRules& rules = {});

/// Of `exec` and `run`, in the same order. kUsage: the output could not be written. kNodeFailed: a node failed, or
/// processes are left on it. kCommandFailed: any end but exit code 0, also by Ctrl-C and the time limit.
ExitCode exit_code(const JobReport& report);

/// The first in the order of exit_code(); kDone without any.
ExitCode first_of(const std::set<ExitCode>& codes);

/// kBug becomes kUsage, kRefused stays kRefused, kBusy becomes kLocked, kStalePlan becomes kStale. Every other error is
/// kNodeFailed.
ExitCode exit_code_of(const Error& error);

}  // namespace sparkplan
