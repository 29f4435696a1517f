#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/fleet/session/cluster_secrets.h"
#include "engine/load/load.h"
#include "engine/report/exit_code.h"

namespace sparkplan {

/// The values of a cluster's secrets, or the exit code that ends the command.
struct SecretsInput {
  std::shared_ptr<const ClusterSecrets> secrets;  ///< Null: the cluster needs none.
  std::optional<ExitCode> exit_code;
};

/// How a command reads secrets.
struct SecretsReading {
  std::string command;  ///< "plan"
  SelectionOptions selection;
  bool json = false;
  /// The file is a saved plan, whose author is not necessarily the user: the commands are shown, and run only after a
  /// yes.
  bool asks_before_commands = false;
};

/// The question before the commands of a saved plan run: their directory, and each command on its own line.
std::string commands_of_plan(const std::vector<std::string>& commands, const std::string& cluster_file);

/// Reads every secret once, before a node is contacted. Prints the findings, and adds them to those of `loaded`.
SecretsInput read_secrets(const SecretsReading& reading, LoadedCluster& loaded, const std::stop_token& stop,
                          Console& console);

}  // namespace sparkplan
