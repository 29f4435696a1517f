#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "engine/cli/commands.h"
#include "engine/cli/terminal/console.h"
#include "engine/core/result.h"
#include "engine/fleet/cluster_run.h"
#include "engine/load/load.h"

namespace sparkplan {

/// `given`, else $SPARKPLAN_CLUSTER, else ./cluster.yaml.
std::string cluster_file(const std::string& given);

/// A command's cluster, or the exit code it ends with instead. Findings are printed to standard error; with `json` also
/// to standard output, in the shape of the command's own result.
struct CommandInput {
  std::optional<LoadedCluster> loaded;
  ExitCode exit_code = ExitCode::kDone;
  std::vector<Diagnostic> findings;  ///< Why the file is invalid, for kInvalidFile.
};
CommandInput load_for(const std::string& command, const std::string& given_file, bool json, Console& console);

/// The same for commands that talk to nodes: sections without a resource type are refused as well.
CommandInput load_to_run(const std::string& command, const std::string& given_file, bool json, Console& console);

/// The same for what a saved plan holds; positions are those of the file it was made from.
CommandInput take_from_plan(const std::string& command, LoadedCluster loaded, bool json, Console& console);

/// Run options from the command line; asks for the sudo password where that was asked for.
/// Errors: kInvalidInput (a pattern that fits no node or no type), kFailed (no terminal to ask on).
Result<RunOptions> run_options(const std::string& command, const Cluster& cluster, const SelectionOptions& selection,
                               const GlobalOptions& global, const std::stop_token& stop);

}  // namespace sparkplan
