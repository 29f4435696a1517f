#include "engine/cli/reference/reference.h"
#include "engine/cli/reference/roff.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// "-f, --file FILE" with the value in italics.
std::string tag_of(const OptionUsage& option) {
  std::string tag = roff_text(join(option.names, ", "));
  if (!option.value.empty()) tag += " \\fI" + roff_text(option.value) + "\\fR";
  return tag;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 32);
  return text.ends_with('.') ? text : text + ".";
}

std::string help_of(const OptionUsage& option) {
  auto text = sentence(option.help);
  if (option.repeatable && !option.value.empty()) text += " May be given several times.";
  return text;
}

std::string usage_line(const CommandUsage& command) {
  std::string line = "\\fBsparkplan " + command.name + "\\fR";
  for (const auto& argument : command.arguments) {
    const auto name = argument.choices.empty() ? "\\fI" + roff_text(argument.name) + "\\fR"
                                               : "\\fB" + roff_text(join(argument.choices, "|")) + "\\fR";
    line += argument.required ? " " + name : " [" + name + "]";
  }
  if (!command.options.empty()) line += " [\\fIOPTION\\fR...]";
  return line + "\n";
}

}  // namespace

std::string manual_of_commands(const ProgramUsage& program) {
  std::string text;
  for (const auto& command : program.commands) {
    text += ".SS " + command.name + "\n" + usage_line(command) + ".PP\n" +
            roff_paragraph(sentence(command.help) + " " + command.details);
    for (const auto& argument : command.arguments) {
      text += roff_entry("\\fI" + roff_text(argument.name) + "\\fR", sentence(argument.help));
    }
    for (const auto& option : command.options) text += roff_entry(tag_of(option), help_of(option));
  }
  return text;
}

std::string manual_of_general_options(const ProgramUsage& program) {
  std::string text;
  for (const auto& option : program.options) text += roff_entry(tag_of(option), help_of(option));
  return text;
}

}  // namespace sparkplan
