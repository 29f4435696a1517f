#include "engine/cli/usage/usage_error.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

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

/// With `first`, the hint begins with it.
std::string with_hint(const std::string& message, const CLI::App& app, const std::string& first = {}) {
  const auto* command = command_of(app);
  std::string hint = first.empty() ? "" : first + "; ";
  hint += command == nullptr ? "`sparkplan --help` lists the commands and the flags of every command"
                             : "`sparkplan " + command->get_name() + " --help` lists its arguments and flags";
  if (takes_command(command)) hint += "; the command comes after `--`";
  return "sparkplan: error: " + message + "\n  hint: " + hint + "\n";
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  const auto near = nearest(word, commands);
  return "there is no command " + printable(word) + (near ? "; did you mean " + *near + "?" : "");
}

/// "--yes is a flag of apply, sync"; empty if no command has it, or too many to be a help.
std::string owners_of(const CLI::App& app, const std::string& flag) {
  constexpr std::size_t kMostOwners = 6;
  std::vector<std::string> owners;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_option_no_throw(flag) != nullptr) owners.push_back(command->get_name());
  }
  if (owners.empty() || owners.size() > kMostOwners) return {};
  return printable(flag) + " is a flag of " + join(owners, ", ");
}

std::string unknown_flag(const CLI::App& app, const std::string& word) {
  const auto* command = command_of(app);
  const std::string flag = word.substr(0, word.find('='));
  if (command != nullptr && command->get_option_no_throw(flag) != nullptr) {
    const std::string& name = command->get_name();
    return with_hint(printable(flag) + " comes after the command: sparkplan " + name + " " + printable(flag), app);
  }
  const std::string message =
      (command == nullptr ? "there is no flag " : command->get_name() + " has no flag ") + printable(flag);
  if (const auto owners = owners_of(app, flag); !owners.empty()) {
    return with_hint(command == nullptr ? "no command is given" : message, app, owners);
  }
  // Every letter is near every other one.
  const auto near = flag.starts_with("--") ? nearest(flag, long_flags(app)) : std::nullopt;
  return with_hint(message + (near ? "; did you mean " + *near + "?" : ""), app);
}

/// "--only needs a value: --only GLOB". CLI11 counts: "--only: 1 required GLOB missing".
std::string missing_value(const std::string& problem) {
  constexpr std::string_view kRequired = " required ";
  constexpr std::string_view kMissing = " missing";
  const auto colon = problem.find(": ");
  const auto required = problem.find(kRequired);
  if (colon == std::string::npos || required == std::string::npos || !problem.ends_with(kMissing)) return problem;
  const std::string flag = problem.substr(0, colon);
  const auto begin = required + kRequired.size();
  return flag + " needs a value: " + flag + " " + problem.substr(begin, problem.size() - kMissing.size() - begin);
}

}  // namespace

bool is_bare(const CLI::App& app) { return app.get_subcommands().empty() && app.remaining(true).empty(); }

std::string usage_error_text(const CLI::App& app, const CLI::ParseError& problem) {
  const auto* command = command_of(app);
  const auto words = app.remaining(true);
  if (command == nullptr && !words.empty() && !words.front().starts_with('-')) {
    return with_hint(unknown_command(app, words.front()), app);
  }
  if (!words.empty() && words.front().size() > 1 && words.front().starts_with('-')) {
    return unknown_flag(app, words.front());
  }
  if (command != nullptr && problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // An argument that no command takes is in CLI11's message alone.
    const std::string text = problem.what();
    const std::string word = words.empty() ? text.substr(text.rfind(' ') + 1) : words.front();
    return with_hint(command->get_name() + " takes no further argument: " + printable(word), app);
  }
  return with_hint((command == nullptr ? "" : command->get_name() + ": ") + printable(missing_value(problem.what())),
                   app);
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
            "  sparkplan init USER@HOST ...   describe these machines as they are\n"
            "  sparkplan init --discover      find the machines of this network first\n"
            "  sparkplan plan -f FILE         use a file in another place\n";
  }
  return text + "All commands: sparkplan help. One of them: sparkplan help plan\n";
}

}  // namespace sparkplan
