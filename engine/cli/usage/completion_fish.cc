#include <fmt/format.h>

#include "engine/cli/usage/completion.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string fish_quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
}

/// " -a ..." for a value with known words.
std::string offer_of(const std::string& value, const std::vector<std::string>& words) {
  if (is_node(value)) return " -a '(__sparkplan_nodes)'";
  return words.empty() ? "" : " -a " + fish_quoted(join(words, " "));
}

std::string option_line(const std::string& condition, const OptionUsage& option) {
  std::string text = "complete -c sparkplan" + condition;
  for (const auto& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) text += is_path(option.value) ? " -rF" : " -x" + offer_of(option.value, option.words);
  return text + " -d " + fish_quoted(option.help) + "\n";
}

std::string command_lines(const CommandUsage& command) {
  const auto condition = fmt::format(" -n '__sparkplan_command_is {}'", command.name);
  std::string text;
  for (const auto& option : command.options) text += option_line(condition, option);
  for (const auto& argument : command.arguments) {
    if (argument.plan != PlanArgument::kNever) {
      const auto* function = argument.plan == PlanArgument::kOnly ? "__sparkplan_plans" : "__sparkplan_plans_and_files";
      text += "complete -c sparkplan" + condition + " -a '(" + function + ")' -d " + fish_quoted(argument.help) + "\n";
      continue;
    }
    if (is_path(argument.name)) text += "complete -c sparkplan" + condition + " -F\n";
    const std::string offer = offer_of(argument.name, argument.words);
    if (!offer.empty())
      text += "complete -c sparkplan" + condition + offer + " -d " + fish_quoted(argument.help) + "\n";
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

# The nodes of the file that the command reads.
function __sparkplan_nodes
    set -l words (commandline -opc)
    set -l file
    set -l is_file 0
    for word in $words
        if test $is_file = 1
            set file -f $word
        end
        set is_file 0
        if contains -- $word -f --file
            set is_file 1
        end
    end
    command -sq $words[1]; or return
    $words[1] export --format ssh-config $file 2>/dev/null | string replace -rf '^Host (\S+).*' '$1'
end

# Saved plans, which their content shows: where the typed path leads, and below plans/.
function __sparkplan_saved_plans
    set -l typed (commandline -ct)
    set -l files $typed*
    if test "$typed" = (string sub -l (string length -- "$typed") plans)
        set -a files plans/*
    end
    for file in $files
        test -f $file; and test -r $file; or continue
        read -l -z -n 64 head <$file
        string match -q '*"sparkplan_plan"*' -- $head; and echo $file
    end
end

function __sparkplan_plans
    set -l plans (__sparkplan_saved_plans)
    if count $plans >/dev/null
        printf '%s\n' $plans
    else
        __fish_complete_path (commandline -ct)
    end
end

function __sparkplan_plans_and_files
    __sparkplan_saved_plans
    __fish_complete_path (commandline -ct)
end

complete -c sparkplan -f
)";
  for (const auto& option : program.options) text += option_line("", option);
  for (const auto& command : program.commands) {
    text += "complete -c sparkplan -n \"__sparkplan_command_is ''\" -a " + command.name + " -d " +
            fish_quoted(command.help) + "\n";
  }
  for (const auto& command : program.commands) text += command_lines(command);
  return text;
}

}  // namespace sparkplan
