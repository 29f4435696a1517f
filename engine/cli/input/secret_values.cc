#include "engine/cli/input/secret_values.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/cli/input/load_command.h"
#include "engine/core/text.h"

namespace sparkplan {

std::string commands_of_plan(const std::vector<std::string>& commands, const std::string& cluster_file) {
  // A plan that was edited may name another directory, and a relative command then is another program.
  std::error_code gone;  // Of the working directory. A relative name is shown as it is then.
  const auto whole = std::filesystem::absolute(cluster_file, gone);
  const auto directory = (gone ? std::filesystem::path(cluster_file) : whole).parent_path();
  std::string text = "To read its secrets, this plan runs on this machine, in " + printable(directory.string()) + ":\n";
  for (const std::string& command : commands) text += "  " + printable(command) + "\n";
  return text;
}

SecretsInput read_secrets(const SecretsReading& reading, LoadedCluster& loaded, const std::stop_token& stop,
                          Console& console) {
  const Cluster& cluster = *loaded.cluster;
  const Selection selection(reading.selection.only, reading.selection.exclude);
  // Checked before the question: those of a saved plan are another person's.
  if (const auto checked = selection.check(cluster, builtin_registry()); !checked) {
    console.error(checked.error());
    return {nullptr, ExitCode::kUsage};
  }
  const auto needed = needed_secrets(cluster, selection);
  if (needed.empty()) return {};
  const auto commands = secret_commands(needed);
  if (reading.asks_before_commands && !commands.empty()) {
    console.question(commands_of_plan(commands, cluster.file));
    if (!console.confirm("Run them?", stop)) {
      console.remark("Nothing was changed.");
      return {nullptr, ExitCode::kUsage};
    }
  }
  auto secrets = std::make_shared<ClusterSecrets>();
  const auto findings = secrets->read(needed, cluster, {.stop = stop, .progress = [&](const std::string& command) {
                                                          console.trace("reading a secret: " + command);
                                                        }});
  console.diagnostics(findings, loaded.source);
  loaded.diagnostics.insert(loaded.diagnostics.end(), findings.begin(), findings.end());
  if (!has_errors(findings)) return {std::move(secrets), std::nullopt};
  if (reading.json) print_findings(reading.command, loaded, console);
  return {nullptr, stop.stop_requested() ? ExitCode::kNodeFailed : ExitCode::kInvalidFile};
}

}  // namespace sparkplan
