#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace sparkplan {

/// A flag, or an option with a value.
struct OptionUsage {
  std::vector<std::string> names;  ///< "-v", "--verbose"
  std::string value;               ///< "GLOB"; empty for a flag.
  std::string help;
  bool repeatable = false;
  std::vector<std::string> words = {};  ///< The words that completions offer for the value.
};

/// Whether an argument can be a saved plan.
enum class PlanArgument : std::uint8_t { kNever, kAlso, kOnly };

/// An argument of a command that is not an option.
struct ArgumentUsage {
  std::string name;                  ///< "FILE"
  std::vector<std::string> choices;  ///< All allowed values; empty: any value.
  std::string help;
  bool required = false;
  std::vector<std::string> words = {};  ///< The words that completions offer; all choices, if there are some.
  PlanArgument plan = PlanArgument::kNever;
};

struct CommandUsage {
  std::string name;
  std::string help;     ///< One line, as in the list of commands.
  std::string details;  ///< Sentences after `help`; may be empty.
  std::vector<OptionUsage> options;
  std::vector<ArgumentUsage> arguments;
};

/// All commands and flags as data, for everything that describes the program.
struct ProgramUsage {
  std::string name;
  std::string help;
  std::vector<OptionUsage> options;  ///< Valid before and after every command.
  std::vector<CommandUsage> commands;
};

/// The program's own command line, from the same declarations that parse it.
ProgramUsage program_usage();

/// Everything declared in CLI11. Options keep their order; -h is listed once, with the general options.
ProgramUsage usage_of(const CLI::App& app);

/// True when the value or argument of this name is a path.
bool is_path(const std::string& value);
/// True when the value or argument of this name is a node of cluster.yaml, or a pattern that may be one.
bool is_node(const std::string& value);

/// "[FILE]", "NODE", "bash|zsh|fish": an argument as a usage line shows it.
std::string usage_text(const ArgumentUsage& argument);
/// "-f FILE", "--json": an option by one of its names.
std::string usage_text(const OptionUsage& option, const std::string& name);
/// "plan [FILE] [--json] [--only GLOB]": the command with its own options by their longest names.
std::string usage_text(const CommandUsage& command);

/// The message for a command line that was refused: what is wrong, the nearest command or flag, and which --help to
/// read. Printable. `app` has parsed the command line.
std::string usage_error_text(const CLI::App& app, const CLI::ParseError& problem);

/// True when the command line has no word at all that could be meant as a command or flag.
bool is_bare(const CLI::App& app);

/// Pure. What to do first, for a command line without a command. `file` is the cluster.yaml that commands read.
std::string first_steps(const std::string& file, bool file_exists);

}  // namespace sparkplan
