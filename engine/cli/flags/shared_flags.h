#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/cli/flags/command_line.h"

namespace CLI {
class Validator;
}

/// Flags and arguments that several commands take. Each value outlives `app`.
namespace sparkplan {

inline constexpr auto kFileHelp = "cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]";

inline constexpr auto kFileOrPlanHelp = "cluster description, or a saved plan [$SPARKPLAN_CLUSTER or ./cluster.yaml]";

/// A flag with a DURATION of at least `least`, as "90s".
void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& into, const std::string& help,
                  std::chrono::milliseconds least = std::chrono::milliseconds{0});

/// How disruptive changes are applied: --confirm-timeout and others.
void add_safety(CLI::App& app, SafetyOptions& into);

/// --signed-by and --allowed-signers.
void add_signer(CLI::App& app, SignerOptions& into);

/// FILE as an argument; -f FILE, which every command takes, is the same.
void add_file(CLI::App& app, CommandLine& line, std::string& into, const char* help = kFileHelp);

/// The values of an option that is a whole number.
CLI::Validator whole_number(int least, int most);

/// The words that an option or argument may be. The message names the nearest one.
CLI::Validator one_of(std::vector<std::string> words);

/// --only and --exclude, for nodes and resources.
void add_selection(CLI::App& app, SelectionOptions& into);

/// --only, for nodes.
void add_node_selection(CLI::App& app, SelectionOptions& into);

/// --report, for commands that also write an HTML page.
void add_report(CLI::App& app, std::string& into);

}  // namespace sparkplan
