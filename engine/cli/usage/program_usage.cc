#include "engine/cli/usage/program_usage.h"

#include <CLI/CLI.hpp>

#include <optional>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

bool is_repeatable(const CLI::Option& option) {
  // Counting flags have different policies in different versions of CLI11. Options that do not count have one of these
  // policies.
  using CLI::MultiOptionPolicy;
  const auto policy = option.get_multi_option_policy();
  const bool once = policy == MultiOptionPolicy::Throw || policy == MultiOptionPolicy::TakeFirst ||
                    policy == MultiOptionPolicy::TakeLast;
  return !once || option.get_items_expected_max() > 1;
}

OptionUsage usage_of_option(const CLI::Option& option) {
  OptionUsage usage;
  for (const auto& name : option.get_snames()) usage.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) usage.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) usage.value = option.get_type_name();
  usage.help = option.get_description();
  usage.repeatable = is_repeatable(option);
  return usage;
}

ArgumentUsage usage_of_argument(const CLI::Option& option) {
  ArgumentUsage usage;
  usage.name = option.get_name(true);
  const auto type = option.get_type_name();
  if (!type.empty()) {
    for (const auto choice : split(type, '|')) usage.choices.emplace_back(choice);
  }
  usage.words = usage.choices;
  usage.help = option.get_description();
  usage.required = option.get_required();
  return usage;
}

CommandUsage usage_of_command(const CLI::App& app) {
  CommandUsage usage;
  usage.name = app.get_name();
  usage.help = app.get_description();
  usage.details = app.get_footer();
  for (const auto* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    if (option->get_positional()) {
      usage.arguments.push_back(usage_of_argument(*option));
    } else {
      usage.options.push_back(usage_of_option(*option));
    }
  }
  return usage;
}

/// The command that was given; null without one.
const CLI::App* command_of(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? nullptr : given.front();
}

std::vector<std::string> long_flags(const CLI::App& app) {
  std::vector<std::string> names;
  const auto add = [&](const CLI::App& from) {
    for (const auto* option : from.get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  if (const auto* command = command_of(app)) add(*command);
  add(app);
  return names;
}

/// True for a command that starts another one: its flags are easily taken for sparkplan's.
bool takes_command(const CLI::App* command) {
  return command != nullptr && (command->get_name() == "exec" || command->get_name() == "run");
}

std::string with_hint(const std::string& message, const CLI::App& app) {
  const auto* command = command_of(app);
  const std::string help = command == nullptr
                               ? "`sparkplan --help` lists the commands and the flags of every command"
                               : "`sparkplan " + command->get_name() + " --help` lists its arguments and flags";
  if (takes_command(command)) {
    return "sparkplan: error: " + message + "\n  hint: " + help + "; the command comes after `--`\n";
  }
  return "sparkplan: error: " + message + "\n  hint: " + help + "\n";
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  const auto near = nearest(word, commands);
  return "there is no command " + printable(word) + (near ? "; did you mean " + *near + "?" : "");
}

std::string unknown_flag(const CLI::App& app, const std::string& word) {
  const auto* command = command_of(app);
  const std::string flag = word.substr(0, word.find('='));
  // Every letter is near every other one.
  const auto near = flag.starts_with("--") ? nearest(flag, long_flags(app)) : std::nullopt;
  return (command == nullptr ? "there is no flag " : command->get_name() + " has no flag ") + printable(flag) +
         (near ? "; did you mean " + *near + "?" : "");
}

}  // namespace

ProgramUsage usage_of(const CLI::App& app) {
  ProgramUsage usage;
  usage.name = app.get_name();
  usage.help = app.get_description();
  for (const auto* option : app.get_options()) usage.options.push_back(usage_of_option(*option));
  for (const auto* command : app.get_subcommands(nullptr)) usage.commands.push_back(usage_of_command(*command));
  return usage;
}

bool is_path(const std::string& value) { return value == "FILE" || value == "PATH" || value == "PLAN"; }

bool is_node(const std::string& value) { return value == "NODE" || value == "GLOB"; }

std::string usage_text(const ArgumentUsage& argument) {
  const auto text = argument.choices.empty() ? argument.name : join(argument.choices, "|");
  return argument.required ? text : "[" + text + "]";
}

std::string usage_text(const OptionUsage& option, const std::string& name) {
  return option.value.empty() ? name : name + " " + option.value;
}

std::string usage_text(const CommandUsage& command) {
  std::string text = command.name;
  for (const auto& argument : command.arguments) text += " " + usage_text(argument);
  for (const auto& option : command.options) text += " [" + usage_text(option, option.names.back()) + "]";
  return text;
}

bool is_bare(const CLI::App& app) { return app.get_subcommands().empty() && app.remaining(true).empty(); }

std::string usage_error_text(const CLI::App& app, const CLI::ParseError& problem) {
  const auto* command = command_of(app);
  const auto words = app.remaining(true);
  if (command == nullptr && !words.empty() && !words.front().starts_with('-')) {
    return with_hint(unknown_command(app, words.front()), app);
  }
  if (!words.empty() && words.front().size() > 1 && words.front().starts_with('-')) {
    return with_hint(unknown_flag(app, words.front()), app);
  }
  if (command != nullptr && problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // An argument that no command takes is in CLI11's message alone.
    const std::string text = problem.what();
    const std::string word = words.empty() ? text.substr(text.rfind(' ') + 1) : words.front();
    return with_hint(command->get_name() + " takes no further argument: " + printable(word), app);
  }
  return with_hint((command == nullptr ? "" : command->get_name() + ": ") + printable(problem.what()), app);
}

std::string first_steps(const std::string& file, bool file_exists) {
  const std::string shown = printable(file);
  std::string text = "sparkplan makes a cluster of machines match one cluster.yaml, over SSH.\n\n";
  if (file_exists) {
    text += shown +
            " is there. With it you can\n"
            "  sparkplan status   show the state of all nodes on one screen\n"
            "  sparkplan plan     show what would change; changes nothing\n"
            "  sparkplan apply    make the nodes match the file\n"
            "  sparkplan verify   measure whether the cluster works\n"
            "  sparkplan doctor   find known faults, with cause and fix\n";
  } else {
    text += "There is no " + shown +
            " yet. Begin with one of\n"
            "  sparkplan init nvidia@10.0.0.11 nvidia@10.0.0.12   describe these machines as they are\n"
            "  sparkplan init --discover                          find the machines of this network first\n"
            "  sparkplan plan -f FILE                             use a file in another place\n";
  }
  return text + "All commands: sparkplan help. One of them: sparkplan help plan\n";
}

}  // namespace sparkplan
