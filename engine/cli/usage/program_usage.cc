#include "engine/cli/usage/program_usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>

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

}  // namespace sparkplan
