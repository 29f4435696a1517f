#include "engine/cli/flags/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "engine/cli/commands/commands.h"
#include "engine/cli/flags/command_flags.h"
#include "engine/cli/flags/shared_flags.h"
#include "engine/core/text.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.set_version_flag("--version", version_text, "print the version");
  app.add_option("-f,--file", global.file, kFileHelp)->type_name("FILE");
  app.add_flag("-v,--verbose", global.verbosity, "print each action on each node, and long values in full");
  app.add_flag("-q,--quiet", global.quiet, "print only what needs attention");
  app.add_flag("--no-color", global.no_color, "no colours (NO_COLOR in the environment does the same)");
  app.add_option("--log-file", global.log_file, "write the output of -v to PATH")->type_name("PATH");
  app.add_option("--workers", global.workers, "number of nodes in parallel, 1 to 256 [16]")
      ->check(whole_number(1, 256))
      ->type_name("N");
  constexpr std::chrono::milliseconds kShortestTimeout{1};  // With 0 no node ever answers in time.
  add_duration(app, "--timeout", global.timeout, "how long to wait for a connection [10s]", kShortestTimeout);
  app.add_flag("--ask-become-pass", global.ask_become_pass, "ask for the password that sudo needs on the nodes");
}

/// --help of a command, with the place of the flags that every command takes.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_footer(const CLI::App* app) const override {
    if (app->get_parent() == nullptr) return CLI::Formatter::make_footer(app);
    std::string footer = app->get_footer();
    std::replace(footer.begin(), footer.end(), '\n', ' ');  // One paragraph: wrapped_help() breaks it into lines.
    return footer + (footer.empty() ? "" : "\n\n") + "Flags of every command, such as -f FILE and -v: sparkplan help\n";
  }
};

/// The headings of --help.
void sort_into_groups(CLI::App& app) {
  const auto put = [&](const std::string& group, const std::vector<std::string>& commands) {
    for (const std::string& command : commands) app.get_subcommand(command)->group(group);
  };
  put("Begin", {"init", "trust", "validate"});
  put("Change the nodes", {"plan", "show", "apply", "sync", "rollback", "release", "unlock"});
  put("Inspect the nodes", {"status", "facts", "drift", "verify", "tune", "doctor", "history"});
  put("Run commands", {"exec", "run"});
  put("For other programs", {"export", "completion", "schema", "types", "version", "help"});
}

/// Where the description begins in "  --yes    do not ask": behind the first two blanks that follow a word. The size of
/// the line without one.
std::size_t column_of_description(std::string_view line) {
  const std::size_t word = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = std::min(line.find("  ", word), line.size());
  return std::min(line.find_first_not_of(' ', gap), line.size());
}

}  // namespace

std::string wrapped_help(const std::string& help, int columns) {
  TextStyle style;
  style.width = columns;
  std::string text;
  for (const std::string_view line : split_lines(help)) {
    const std::size_t column = column_of_description(line);
    if (text_width(line) <= columns_of(style) || column == line.size()) {
      text += continued(line, std::min(line.find_first_not_of(' '), line.size()), style);
      continue;
    }
    FlowingLine flowing(std::string(line.substr(0, column)), column, column, style);
    flowing.add_words(line.substr(column), Colour::kNone, 0);
    text += std::move(flowing).text();
  }
  return text;
}

void declare(CLI::App& app, CommandLine& line) {
  app.name("sparkplan");
  app.description("Makes a cluster of machines match one cluster.yaml, over SSH.");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.fallthrough();
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("SUBCOMMAND", "COMMAND");
  app.formatter(formatter);
  add_global_options(app, line.global);
  for (const auto add : {add_init,   add_validate, add_plan,    add_show,     add_apply,      add_drift,   add_verify,
                         add_doctor, add_sync,     add_history, add_rollback, add_unlock,     add_release, add_trust,
                         add_status, add_facts,    add_export,  add_tune,     add_completion, add_help,    add_schema,
                         add_types,  add_version,  add_exec,    add_run}) {
    add(app, line);
  }
  sort_into_groups(app);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace sparkplan
