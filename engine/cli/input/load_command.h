#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/core/result.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/load/load.h"
#include "engine/model/cluster.h"
#include "engine/report/exit_code.h"

namespace sparkplan {

/// `given`, else $SPARKPLAN_CLUSTER, else ./cluster.yaml.
std::string cluster_file(const std::string& given);

/// A command's cluster, or the exit code that ends the command. Findings are printed to standard error. With `json`
/// they are also printed to standard output, in the shape of the command's result.
struct CommandInput {
  std::optional<LoadedCluster> loaded;
  ExitCode exit_code = ExitCode::kDone;
  std::vector<Diagnostic> findings;  ///< Why the file is invalid, for kInvalidFile.
};
CommandInput load_for(const std::string& command, const std::string& given_file, bool json, Console& console);

/// Pure. The findings of a file that `command` prints. A remark about the whole layout is for the commands with which
/// people judge a file: validate and plan. JSON has all of them.
std::vector<Diagnostic> findings_to_print(const std::string& command, std::vector<Diagnostic> findings);

/// Like load_for(), for commands that connect to nodes: sections without a resource type are also refused.
CommandInput load_to_run(const std::string& command, const std::string& given_file, bool json, Console& console);

/// Like load_for(), for the content of a saved plan. Positions refer to the file that the plan was made from.
CommandInput take_from_plan(const std::string& command, LoadedCluster loaded, bool json, Console& console);

/// Prints the findings of a file that cannot be used, as the JSON of the command.
void print_findings(const std::string& command, const LoadedCluster& loaded, const Console& console);

/// Run options from the command line and the user's ssh configuration. Asks for the sudo password if the user wants
/// that. With `login`, the login of an earlier run of this process, nothing is read and asked a second time: passwords
/// and unlocked keys stay in their locked memory. `released`: a node of the file that `release` has taken out of
/// `cluster`; it is reached as the others. `console` outlives the options. Errors: kInvalidInput (a pattern that
/// matches no node or no type), kFailed (no terminal to ask on), kInterrupted, those of read_ssh_config().
Result<RunOptions> run_options(const std::string& command, const Cluster& cluster, const SelectionOptions& selection,
                               const GlobalOptions& global, const std::stop_token& stop, const Console& console,
                               const AgentOptions* login = nullptr, const NodeSpec* released = nullptr);

}  // namespace sparkplan
