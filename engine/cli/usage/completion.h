#pragma once

#include <string>
#include <vector>

#include "engine/cli/usage/program_usage.h"

namespace sparkplan {

/// "bash", "zsh", "fish".
const std::vector<std::string>& completion_shells();

/// The script that makes the shell complete commands, options and, for path arguments, file names. It needs only what
/// the shell itself provides. Empty for an unknown shell.
std::string completion_script(const std::string& shell, const ProgramUsage& program);

/// The parts of completion_script().
std::string bash_completion(const ProgramUsage& program);
std::string zsh_completion(const ProgramUsage& program);
std::string fish_completion(const ProgramUsage& program);

}  // namespace sparkplan
