#include <fmt/format.h>

#include "engine/cli/usage/completion.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// Quotes a text with single quotes for _arguments and _describe, which interpret brackets and colons.
std::string zsh_quoted(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string action_of(const std::string& value, const std::vector<std::string>& words) {
  if (is_path(value)) return "_files";
  if (is_node(value)) return "_sparkplan_nodes";
  return words.empty() ? " " : "(" + join(words, " ") + ")";
}

/// One word of an array of specifications: '(-f --file)'{-f+,--file=}'[help]:FILE:_files'
std::string specification(const OptionUsage& option) {
  const bool takes_value = !option.value.empty();
  const auto with_sign = [&](const std::string& name) {
    if (!takes_value) return name;
    return name + (name.starts_with("--") ? "=" : "+");
  };
  std::vector<std::string> names;
  for (const auto& name : option.names) names.push_back(with_sign(name));
  auto tail = "[" + zsh_quoted(option.help) + "]";
  if (takes_value) tail += ":" + option.value + ":" + action_of(option.value, option.words);
  const std::string star = option.repeatable ? "*" : "";
  if (names.size() == 1) return "'" + star + names.front() + tail + "'";
  const auto head = option.repeatable ? star : "(" + join(option.names, " ") + ")";
  return "'" + head + "'{" + join(names, ",") + "}'" + tail + "'";
}

std::string specification(const ArgumentUsage& argument) {
  const auto action = argument.plan == PlanArgument::kOnly   ? "_sparkplan_plans"
                      : argument.plan == PlanArgument::kAlso ? "_sparkplan_plans_and_files"
                                                             : action_of(argument.name, argument.words);
  return std::string("'") + (argument.required ? ":" : "::") + argument.name + ":" + action + "'";
}

std::string command_branch(const CommandUsage& command) {
  std::string text = "        " + command.name + ")\n          _arguments -s $general";
  for (const auto& option : command.options) text += " \\\n            " + specification(option);
  for (const auto& argument : command.arguments) text += " \\\n            " + specification(argument);
  return text + " && result=0\n          ;;\n";
}

}  // namespace

std::string zsh_completion(const ProgramUsage& program) {
  std::string text = R"zsh(#compdef sparkplan
# zsh completion of sparkplan, made by: sparkplan completion zsh

# The nodes of the file that the command reads; in a list, the one after the last comma.
_sparkplan_nodes() {
  local file=${opt_args[-f]:-${opt_args[--file]:-$general_file}}
  local -a nodes
  file=${file/#\~/$HOME}
  nodes=(${(f)"$(sparkplan export --format ssh-config ${file:+-f} ${file:+$file} 2>/dev/null |
    sed -n 's/^Host \([^ ]*\).*/\1/p')"})
  compset -P '*,'
  compadd -a nodes
}

# Saved plans, which their content shows: where the typed path leads, and below plans/.
_sparkplan_is_plan() {
  local begin
  IFS= read -r -u 0 -k 64 begin <${1:-$REPLY} 2>/dev/null
  [[ $begin == *'"sparkplan_plan"'* ]]
}
_sparkplan_below_plans() {
  local -a below
  [[ $PREFIX != */* ]] || return
  below=(plans/*(N-.r+_sparkplan_is_plan))
  compadd -f -a below
}
_sparkplan_plans() {
  _sparkplan_below_plans
  _files -g '*(-.r+_sparkplan_is_plan)'
}
_sparkplan_plans_and_files() {
  _sparkplan_below_plans
  _files
}

_sparkplan() {
  local curcontext="$curcontext" state state_descr line general_file result=1
  local -A opt_args
  local -a general commands
  general=(
)zsh";
  for (const auto& option : program.options) text += "    " + specification(option) + "\n";
  text += "  )\n  commands=(\n";
  for (const auto& command : program.commands) {
    text += fmt::format("    '{}:{}'\n", command.name, zsh_quoted(command.help));
  }
  // -A: the flags behind the command are left to its own _arguments, which needs them: -f names the file of the nodes.
  text += R"(  )
  _arguments -C -s -A '-*' $general ': :->command' '*:: :->arguments' && result=0
  general_file=${opt_args[-f]:-$opt_args[--file]}
  case $state in
    command)
      _describe -t commands 'sparkplan command' commands && result=0
      ;;
    arguments)
      curcontext="${curcontext%:*:*}:sparkplan-$words[1]:"
      case $words[1] in
)";
  for (const auto& command : program.commands) text += command_branch(command);
  // As a file in $fpath, the script is the body of the function; when sourced, it has to register itself.
  text += R"(      esac
      ;;
  esac
  return result
}

if [[ ${funcstack[1]} == _sparkplan ]]; then
  _sparkplan "$@"
else
  compdef _sparkplan sparkplan
fi
)";
  return text;
}

}  // namespace sparkplan
