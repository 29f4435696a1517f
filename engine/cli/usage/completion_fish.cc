#include <fmt/format.h>

#include "engine/cli/usage/completion.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
}

std::string option_line(const std::string& condition, const OptionUsage& option) {
  std::string text = "complete -c sparkplan" + condition;
  for (const auto& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) text += is_path(option.value) ? " -rF" : " -x";
  return text + " -d " + quoted(option.help) + "\n";
}

std::string command_lines(const CommandUsage& command) {
  const auto condition = fmt::format(" -n '__sparkplan_command_is {}'", command.name);
  std::string text;
  for (const auto& option : command.options) text += option_line(condition, option);
  for (const auto& argument : command.arguments) {
    if (is_path(argument.name)) text += "complete -c sparkplan" + condition + " -F\n";
    if (argument.choices.empty()) continue;
    text += "complete -c sparkplan" + condition + " -a " + quoted(join(argument.choices, " ")) + " -d " +
            quoted(argument.help) + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion(const ProgramUsage& program) {
  std::vector<std::string> with_value;
  for (const auto& option : program.options) {
    if (!option.value.empty()) with_value.insert(with_value.end(), option.names.begin(), option.names.end());
  }
  std::string text = R"(# fish completion of sparkplan, made by: sparkplan completion fish

# The command is the first word that is neither an option nor the value of one.
function __sparkplan_command_is
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch $word
            case )" + join(with_value, " ") +
                     R"(
                set is_value 1
            case '-*'
            case '*'
                set command $word
                break
        end
    end
    test "$command" = "$argv[1]"
end

complete -c sparkplan -f
)";
  for (const auto& option : program.options) text += option_line("", option);
  for (const auto& command : program.commands) {
    text += "complete -c sparkplan -n \"__sparkplan_command_is ''\" -a " + command.name + " -d " +
            quoted(command.help) + "\n";
  }
  for (const auto& command : program.commands) text += command_lines(command);
  return text;
}

}  // namespace sparkplan
