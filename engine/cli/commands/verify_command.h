#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/load/load.h"
#include "engine/report/exit_code.h"
#include "engine/verify/verify_run.h"

namespace sparkplan {

/// "link", "mtu" ... and "all": the values of --level.
std::vector<std::string> level_names();

/// The levels to run, and the one the user named: at that level, something must be measured.
struct LevelChoice {
  std::vector<Level> levels = all_levels();
  std::optional<Level> named = {};
  NcclChoice nccl = {};
  bool force = false;         ///< As VerifyOptions::force.
  bool with_history = false;  ///< As VerifyOptions::with_history.
};

/// verify --history: what was measured before. Measures nothing. Errors: those of run_options(); kInvalidInput for a
/// flag that only a measurement takes, and for a check that no node keeps.
Result<ExitCode> run_verify_history(const VerifyCommandOptions& options, const GlobalOptions& global, Console& console);

/// Runs the levels on the cluster's nodes, with progress on standard error. `login`: as for run_options().
/// Errors: those of run_options().
Result<VerifyReport> verify(const LoadedCluster& loaded, const SelectionOptions& selection, LevelChoice choice,
                            const GlobalOptions& global, const Interrupts& interrupts, Console& console,
                            const AgentOptions* login = nullptr);

}  // namespace sparkplan
