// export, completion, schema, types, version, help: commands that only print.
#include <CLI/CLI.hpp>

#include "engine/cli/commands/commands.h"
#include "engine/cli/flags/command_flags.h"
#include "engine/cli/flags/shared_flags.h"
#include "engine/cli/usage/completion.h"
#include "engine/core/text.h"
#include "engine/export/export.h"

namespace sparkplan {

void add_export(CLI::App& app, CommandLine& line) {
  auto* exported = app.add_subcommand("export", "print the cluster for another tool; contacts no node");
  add_file(*exported, line, line.exported.file);
  exported->add_option("--format", line.exported.format, "one of " + join(export_formats(), ", "))
      ->type_name("FORMAT")
      ->check(one_of(export_formats()));
  add_selection(*exported, line.exported.selection);
  exported->footer(
      "Uses only the file, and ~/.ssh/config for the way to the nodes. Interfaces and RDMA\n"
      "devices are included if the file names them or the profile is dgx-spark. Otherwise\n"
      "standard error reports what is missing. With --only NODE, env sets that node's\n"
      "variables on any host. Without --only, env finds the node by the host's name. In the\n"
      "formats for jobs, a node with `maintenance: true` has no rank, as in `run`.");
  exported->callback([&] { line.command = [&](Console& c) { return run_export(line.exported, c); }; });
}

void add_completion(CLI::App& app, CommandLine& line) {
  auto* completion = app.add_subcommand("completion", "print a script that adds completion of sparkplan to a shell");
  // The completion scripts offer the words of the type name.
  completion->add_option("SHELL", line.completion_shell, "the shell")
      ->required()
      ->type_name(join(completion_shells(), "|"))
      ->check(one_of(completion_shells()));
  completion->footer(
      "For bash add `source <(sparkplan completion bash)` to ~/.bashrc, for zsh\n"
      "`source <(sparkplan completion zsh)` to ~/.zshrc after compinit, for fish\n"
      "`sparkplan completion fish | source` to ~/.config/fish/config.fish. The Debian\n"
      "package installs all three.");
  completion->callback([&] { line.command = [&](Console& c) { return run_completion(line.completion_shell, c); }; });
}

void add_schema(CLI::App& app, CommandLine& line) {
  app.add_subcommand("schema", "print the JSON Schema of cluster.yaml")->callback([&] { line.command = run_schema; });
}

void add_types(CLI::App& app, CommandLine& line) {
  app.add_subcommand("types", "list the resource types")->callback([&] { line.command = run_types; });
}

void add_version(CLI::App& app, CommandLine& line) {
  app.add_subcommand("version", "print the version")->callback([&] { line.command = run_version; });
}

void add_help(CLI::App& app, CommandLine& line) {
  auto* help = app.add_subcommand("help", "print the commands, or the arguments and flags of one");
  help->add_option("COMMAND", line.help_of, "the command")->type_name("");
  help->callback([&] { line.command = [&](Console& c) { return run_help(line.help_of, c); }; });
}

}  // namespace sparkplan
