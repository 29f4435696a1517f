#include "engine/cli/application.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/job_commands.h"
#include "engine/cli/commands/verify_command.h"
#include "engine/cli/flags/command_line.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/usage/completion.h"
#include "engine/cli/usage/usage_error.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/export/export.h"

namespace sparkplan {
namespace {

/// Tells the completions the words that a value of this name may be. With `only_of`, in that command alone.
void offer(ProgramUsage& program, const std::string& value, const std::vector<std::string>& words,
           std::string_view only_of = {}) {
  for (CommandUsage& command : program.commands) {
    if (!only_of.empty() && command.name != only_of) continue;
    for (OptionUsage& option : command.options) {
      if (option.value == value) option.words = words;
    }
    for (ArgumentUsage& argument : command.arguments) {
      if (argument.name == value) argument.words = words;
    }
  }
}

/// Prints why there is nothing to run, or the requested help.
ExitCode print_instead(const CLI::App& app, const CLI::ParseError& problem) {
  if (problem.get_exit_code() == 0) {
    std::ostringstream out;
    app.exit(problem, out, out);
    const bool is_help = problem.get_name() != "CallForVersion";
    std::cout << (is_help ? wrapped_help(out.str(), columns_of_output()) : out.str());
    return ExitCode::kDone;
  }
  if (is_bare(app) && problem.get_name() == "RequiredError") {
    const std::string file = cluster_file("");
    std::error_code ignored;
    std::cerr << wrapped_help(first_steps(file, std::filesystem::exists(file, ignored)), columns_of_output());
  } else {
    std::cerr << usage_error_text(app, problem);
  }
  return ExitCode::kUsage;
}

/// -f FILE is the FILE of every command. Errors: kInvalidInput if both are given.
Result<void> settle_file(CommandLine& line) {
  const std::string& given = line.global.file;
  if (given.empty()) return {};
  for (std::string* file : line.files) {
    if (!file->empty()) {
      return failure(ErrorCode::kInvalidInput, "two files are given: " + *file + ", and " + given + " with -f",
                     "name one of them");
    }
  }
  for (std::string* file : line.files) *file = given;
  return {};
}

/// Where our own arguments end, and where those of a started command begin. CLI11 splits a word such as "[a,b]", so it
/// does not get the words after the first --, if the command is one that starts another.
std::pair<int, int> split_command(int argc, char** argv) {
  bool starts_another = false;
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "--") return starts_another ? std::pair(at, at + 1) : std::pair(argc, argc);
    starts_another = starts_another || word == "exec" || word == "run";
  }
  return {argc, argc};
}

}  // namespace

ProgramUsage program_usage() {
  CommandLine line;
  CLI::App app;
  declare(app, line);
  auto program = usage_of(app);
  offer(program, "FORMAT", export_formats(), "export");
  offer(program, "FORMAT", plan_formats(), "plan");
  offer(program, "LEVEL", level_names());
  offer(program, "LAUNCHER", launcher_names());
  offer(program, "COMMAND", command_names(app), "help");
  for (CommandUsage& command : program.commands) {
    for (ArgumentUsage& argument : command.arguments) {
      if (argument.name == "PLAN") argument.plan = PlanArgument::kOnly;
      if (argument.name == "FILE" && command.name == "apply") argument.plan = PlanArgument::kAlso;
    }
  }
  return program;
}

Result<ExitCode> run_completion(const std::string& shell, Console& console) {
  console.result(completion_script(shell, program_usage()));
  return ExitCode::kDone;
}

Result<ExitCode> run_help(const std::string& command, Console& console) {
  CommandLine line;
  CLI::App app;
  declare(app, line);
  if (command.empty()) {
    console.result(wrapped_help(app.help(), console.style().width));
    return ExitCode::kDone;
  }
  const auto names = command_names(app);
  if (std::find(names.begin(), names.end(), command) == names.end()) {
    const auto near = nearest(command, names);
    return failure(ErrorCode::kInvalidInput, "there is no command " + printable(command),
                   near ? "did you mean " + *near + "?" : "`sparkplan help` lists the commands");
  }
  console.result(wrapped_help(app.get_subcommand(command)->help(app.get_name()), console.style().width));
  return ExitCode::kDone;
}

ExitCode run_application(int argc, char** argv) {
  keep_standard_streams_open();
  // A program inherits an ignored SIGCHLD from its parent. The system then keeps no exit status of its children.
  ::signal(SIGCHLD, SIG_DFL);
  // When a node's agent or a pager closes its pipe, report an error instead of dying by SIGPIPE.
  ::signal(SIGPIPE, SIG_IGN);
  CommandLine line;
  CLI::App app;
  declare(app, line);
  const auto [own, started] = split_command(argc, argv);
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& problem) {
    return print_instead(app, problem);
  }
  auto console = Console::open(line.global.verbosity, line.global.quiet, line.global.no_color, line.global.log_file);
  if (!console) {
    std::cerr << "sparkplan: error: " << printable(console.error().describe()) << "\n"
              << "  hint: " << printable(console.error().hint) << "\n";
    return ExitCode::kUsage;
  }
  if (line.started != nullptr) {
    line.started->insert(line.started->end(), argv + started, argv + argc);
  } else if (started < argc) {
    std::cerr << "sparkplan: error: only exec and run take a command after --\n"
              << "  hint: leave out -- and what follows it\n";
    return ExitCode::kUsage;
  }
  if (const auto settled = settle_file(line); !settled) {
    console->error(settled.error());
    return ExitCode::kUsage;
  }
  const auto code = line.command(*console);
  if (!code) console->error(code.error());
  const auto printed = console->check_output();
  if (!printed) console->error(printed.error());
  return printed ? code.value_or(ExitCode::kUsage) : ExitCode::kUsage;
}

}  // namespace sparkplan
