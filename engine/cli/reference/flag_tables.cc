#include <algorithm>

#include "engine/cli/reference/reference.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// Escapes bars: in a table cell, a bar starts the next cell, even within a code span.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string row(const std::string& left, const std::string& right) {
  return "| " + cell(left) + " | " + cell(right) + " |\n";
}

std::string flag_rows(const std::vector<OptionUsage>& options) {
  std::string text = "| flag | does |\n|---|---|\n";
  for (const auto& option : options) {
    std::vector<std::string> names;
    for (const auto& name : option.names) names.push_back("`" + usage_text(option, name) + "`");
    text += row(join(names, ", "), option.help);
  }
  return text;
}

}  // namespace

std::string markdown_of_commands(const ProgramUsage& program) {
  std::string text = "| command | does |\n|---|---|\n";
  for (const auto& command : program.commands) text += row("`" + usage_text(command) + "`", command.help);
  text += "\n## Flags\n### Every command\n" + flag_rows(program.options);
  for (const auto& command : program.commands) {
    if (command.options.empty() && command.details.empty()) continue;
    text += "\n### " + command.name + "\n";
    if (!command.details.empty()) text += one_line(command.details) + "\n";
    if (!command.details.empty() && !command.options.empty()) text += "\n";
    if (!command.options.empty()) text += flag_rows(command.options);
  }
  return text;
}

}  // namespace sparkplan
