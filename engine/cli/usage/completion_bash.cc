#include <fmt/format.h>

#include <map>

#include "engine/cli/usage/completion.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

// The table of commands replaces @...@.
constexpr std::string_view kScript = R"(# bash completion of sparkplan, made by: sparkplan completion bash

_sparkplan_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# Saved plans, which their content shows: where the typed path leads, and below plans/.
_sparkplan_plans() {
  local path begin paths=("$1"*)
  compopt -o filenames 2>/dev/null
  [[ $1 == */* ]] || paths+=(plans/*)
  for path in "${paths[@]}"; do
    [[ $path == "$1"* && -f $path && -r $path ]] || continue
    IFS= read -r -d '' -n 64 begin <"$path"
    [[ $begin != *'"sparkplan_plan"'* ]] || COMPREPLY+=("$path")
  done
}

_sparkplan_words() {
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# The nodes of the file that the command reads; in a list, the one after the last comma.
_sparkplan_nodes() {
  local file='' begun='' nodes i
  for ((i = 1; i + 1 < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -f || ${COMP_WORDS[i]} == --file ]] || continue
    [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
    file=${COMP_WORDS[i + 1]/#\~/$HOME}
  done
  [[ $1 != *,* ]] || begun=${1%,*},
  nodes=$("${COMP_WORDS[0]}" export --format ssh-config ${file:+-f "$file"} 2>/dev/null |
    sed -n 's/^Host \([^ ]*\).*/\1/p')
  mapfile -t COMPREPLY < <(compgen -P "$begun" -W "$nodes" -- "${1##*,}")
}

_sparkplan() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' own='' i
  COMPREPLY=()
  # "--option=value" arrives as three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  # The command is the first word that is neither an option nor the value of one.
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      @general_with_value@)
        [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
        ((i++))
        ;;
      -* | =) ;;
      *)
        command=${COMP_WORDS[i]}
        break
        ;;
    esac
  done
  case "$command $before" in
@values@  esac
  if [[ $current != -* ]]; then
    case $command in
      '') _sparkplan_words "$current" '@commands@' ;;
@arguments@    esac
    return
  fi
  case $command in
@own@  esac
  _sparkplan_words "$current" "$own @general@"
}

complete -F _sparkplan sparkplan
)";

std::string replaced(std::string text, std::string_view place, const std::string& by) {
  const auto at = text.find(place);
  if (at != std::string::npos) text.replace(at, place.size(), by);
  return text;
}

std::vector<std::string> names_of(const std::vector<OptionUsage>& options) {
  std::vector<std::string> names;
  for (const auto& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// Patterns of "COMMAND OPTION", by what their value is.
struct ValuePatterns {
  std::vector<std::string> paths;
  std::vector<std::string> nodes;
  std::map<std::string, std::vector<std::string>> of_words;  ///< By the words, with blanks between them.
  std::vector<std::string> others;

  void add(const std::string& command, const std::vector<OptionUsage>& options) {
    for (const auto& option : options) {
      if (option.value.empty()) continue;
      auto& patterns = list_for(option);
      for (const auto& name : option.names) patterns.push_back(command + "\\ " + name);
    }
  }

  std::string branches() const {
    std::string text;
    if (!paths.empty()) text += "    " + join(paths, " | ") + ") _sparkplan_files \"$current\"; return ;;\n";
    if (!nodes.empty()) text += "    " + join(nodes, " | ") + ") _sparkplan_nodes \"$current\"; return ;;\n";
    for (const auto& [words, patterns] : of_words) {
      text += fmt::format("    {}) _sparkplan_words \"$current\" '{}'; return ;;\n", join(patterns, " | "), words);
    }
    if (!others.empty()) text += "    " + join(others, " | ") + ") return ;;\n";
    return text;
  }

 private:
  std::vector<std::string>& list_for(const OptionUsage& option) {
    if (is_path(option.value)) return paths;
    if (is_node(option.value)) return nodes;
    return option.words.empty() ? others : of_words[join(option.words, " ")];
  }
};

std::string argument_branch(const CommandUsage& command) {
  for (const auto& argument : command.arguments) {
    if (argument.plan == PlanArgument::kOnly) {
      return fmt::format(
          "      {}) _sparkplan_plans \"$current\"; [[ -n ${{COMPREPLY[*]}} ]] || _sparkplan_files \"$current\" ;;\n",
          command.name);
    }
    if (argument.plan == PlanArgument::kAlso) {
      return fmt::format("      {}) _sparkplan_files \"$current\"; _sparkplan_plans \"$current\" ;;\n", command.name);
    }
    if (is_path(argument.name)) return fmt::format("      {}) _sparkplan_files \"$current\" ;;\n", command.name);
    if (is_node(argument.name)) return fmt::format("      {}) _sparkplan_nodes \"$current\" ;;\n", command.name);
    if (argument.words.empty()) continue;
    return fmt::format("      {}) _sparkplan_words \"$current\" '{}' ;;\n", command.name, join(argument.words, " "));
  }
  return {};
}

}  // namespace

std::string bash_completion(const ProgramUsage& program) {
  ValuePatterns values;
  values.add("*", program.options);
  std::vector<std::string> with_value;
  for (const auto& option : program.options) {
    if (!option.value.empty()) with_value.insert(with_value.end(), option.names.begin(), option.names.end());
  }
  std::vector<std::string> commands;
  std::string arguments;
  std::string own;
  for (const auto& command : program.commands) {
    commands.push_back(command.name);
    values.add(command.name, command.options);
    arguments += argument_branch(command);
    if (command.options.empty()) continue;
    own += fmt::format("    {}) own='{}' ;;\n", command.name, join(names_of(command.options), " "));
  }
  auto script = replaced(std::string(kScript), "@general_with_value@", join(with_value, " | "));
  script = replaced(std::move(script), "@values@", values.branches());
  script = replaced(std::move(script), "@commands@", join(commands, " "));
  script = replaced(std::move(script), "@arguments@", arguments);
  script = replaced(std::move(script), "@own@", own);
  return replaced(std::move(script), "@general@", join(names_of(program.options), " "));
}

}  // namespace sparkplan
