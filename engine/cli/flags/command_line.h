#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/core/result.h"
#include "engine/report/exit_code.h"

namespace CLI {
class App;
}

namespace sparkplan {

/// All options and arguments of the command line. CLI11 writes into it.
struct CommandLine {
  GlobalOptions global;
  InitOptions init;
  ValidateOptions validate;
  PlanOptions plan;
  ApplyCommandOptions apply;
  DriftOptions drift;
  VerifyCommandOptions verify;
  TuneCommandOptions tune;
  DoctorCommandOptions doctor;
  ExecOptions exec;
  RunCommandOptions run;
  StatusOptions status;
  FactsOptions facts;
  TrustOptions trust;
  ReleaseOptions release;
  ShowOptions show;
  HistoryOptions history;
  RollbackOptions rollback;
  UnlockOptions unlock;
  ExportOptions exported;
  SyncCommandOptions sync;
  std::string completion_shell;
  std::string help_of;              ///< The command that `help` describes; empty: all.
  std::vector<std::string*> files;  ///< The FILE of each command; -f sets those that are not given.
  /// The COMMAND of `exec` or `run`, or null for other commands. Words after -- are added to it as they are.
  std::vector<std::string>* started = nullptr;
  std::function<Result<ExitCode>(Console&)> command;
};

/// The only table of commands and flags. --help, the manual page, the completions and docs/commands.md are generated
/// from it. `line` outlives `app`.
void declare(CLI::App& app, CommandLine& line);

/// The text of --help in lines of at most `columns`. The description of a flag continues in its column.
std::string wrapped_help(const std::string& help, int columns);

/// The names of all commands, in the order of the table.
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace sparkplan
