#include "engine/cli/input/load_command.h"

#include <cstdlib>

#include "engine/cli/input/ssh_options.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/terminal/typed_input.h"
#include "engine/plan/desired_state.h"
#include "engine/report/text/local_time.h"

namespace sparkplan {
namespace {

Report findings_only(const std::string& command, const std::string& file, const LoadedCluster& loaded) {
  Report report;
  report.command = command;
  report.file = file;
  report.diagnostics = loaded.diagnostics;
  if (loaded.cluster) {
    report.cluster = loaded.cluster->name;
    report.config_digest = loaded.cluster->config_digest;
  }
  return report;
}

/// Prints the findings. A file with an error is not used.
CommandInput accept(const std::string& command, const std::string& file, LoadedCluster loaded, bool json,
                    Console& console) {
  console.diagnostics(findings_to_print(command, loaded.diagnostics), loaded.source);
  if (loaded.cluster) return {std::move(loaded), ExitCode::kDone, {}};
  if (json) print_json(findings_only(command, file, loaded), console);
  return {std::nullopt, ExitCode::kInvalidFile, std::move(loaded.diagnostics)};
}

/// The hint for a cluster.yaml that cannot be read.
std::string hint_for_unreadable(const Error& error, const std::string& given_file) {
  if (!given_file.empty()) {
    if (error.code == ErrorCode::kNotFound) return "correct the path; `sparkplan init` writes a new file";
    return error.code == ErrorCode::kPermissionDenied ? "let your user read it" : "name a cluster.yaml";
  }
  const char* variable = std::getenv("SPARKPLAN_CLUSTER");
  if (variable != nullptr && *variable != '\0') return "$SPARKPLAN_CLUSTER names this file: correct it, or use -f FILE";
  return "name the file with -f FILE or in $SPARKPLAN_CLUSTER; `sparkplan init` writes a new one";
}

CommandInput refuse_unsupported(const std::string& command, CommandInput input, bool json, Console& console) {
  if (!input.loaded) return input;
  const auto refused = unsupported_sections(*input.loaded->cluster, builtin_registry());
  if (refused.empty()) return input;
  console.diagnostics(refused, input.loaded->source);
  input.loaded->diagnostics.insert(input.loaded->diagnostics.end(), refused.begin(), refused.end());
  if (json) print_json(findings_only(command, input.loaded->cluster->file, *input.loaded), console);
  return {std::nullopt, ExitCode::kInvalidFile, std::move(input.loaded->diagnostics)};
}

}  // namespace

std::string cluster_file(const std::string& given) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("SPARKPLAN_CLUSTER");
  return variable != nullptr && *variable != '\0' ? variable : "cluster.yaml";
}

std::vector<Diagnostic> findings_to_print(const std::string& command, std::vector<Diagnostic> findings) {
  if (command == "validate" || command == "plan") return findings;
  std::erase_if(findings, [](const Diagnostic& one) { return one.code == "nodes.not-a-power-of-two"; });
  return findings;
}

CommandInput load_for(const std::string& command, const std::string& given_file, bool json, Console& console) {
  const auto file = cluster_file(given_file);
  auto loaded = load_cluster_file(file, builtin_registry());
  if (!loaded) {
    Error error = loaded.error();
    if (error.hint.empty()) error.hint = hint_for_unreadable(error, given_file);
    console.error(error);
    return {std::nullopt, ExitCode::kUsage, {}};
  }
  return accept(command, file, std::move(*loaded), json, console);
}

CommandInput load_to_run(const std::string& command, const std::string& given_file, bool json, Console& console) {
  return refuse_unsupported(command, load_for(command, given_file, json, console), json, console);
}

CommandInput take_from_plan(const std::string& command, LoadedCluster loaded, bool json, Console& console) {
  const std::string file = loaded.cluster->file;
  return refuse_unsupported(command, accept(command, file, std::move(loaded), json, console), json, console);
}

void print_findings(const std::string& command, const LoadedCluster& loaded, const Console& console) {
  print_json(findings_only(command, loaded.cluster ? loaded.cluster->file : std::string(), loaded), console);
}

Result<RunOptions> run_options(const std::string& command, const Cluster& cluster, const SelectionOptions& selection,
                               const GlobalOptions& global, const std::stop_token& stop, const Console& console,
                               const AgentOptions* login, const NodeSpec* released) {
  RunOptions options;
  options.command = command;
  options.workers = global.workers;
  options.selection = Selection(selection.only, selection.exclude);
  SPARK_CHECK(options.selection.check(cluster, builtin_registry()));
  options.stop = stop;
  options.shown_time = [clock = local_clock()](const std::string& utc) { return local_time_text(utc, clock); };
  options.time_asking = [&screen = console.screen()] { return screen.time_held(); };
  options.agent.connect.timeout = global.timeout;
  options.agent.connect.stop = stop;
  if (login != nullptr) {
    options.agent.connect.config = login->connect.config;
    options.agent.connect.keys = login->connect.keys;
    options.agent.connect.recorded = login->connect.recorded;
    options.agent.become_password = login->become_password;
    return options;
  }
  // drift runs from cron and timers, and never asks.
  const auto passphrases = command == "drift" ? Passphrases::kAreNotAsked : Passphrases::kAreAsked;
  auto reached = cluster.nodes;
  // The ssh configuration is read only if a node needs it, and the released one may be the only such node.
  if (released != nullptr) reached.push_back(*released);
  SPARK_CHECK(add_ssh_of_user(options.agent.connect, reached, passphrases, console));
  if (global.ask_become_pass) {
    SPARK_TRY(options.agent.become_password, ask_password("Password for sudo on the nodes: ", console.screen(), stop));
  }
  return options;
}

}  // namespace sparkplan
