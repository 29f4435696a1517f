#include "engine/cli/usage/completion.h"

namespace sparkplan {

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells{"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const std::string& shell, const ProgramUsage& program) {
  if (shell == "bash") return bash_completion(program);
  if (shell == "zsh") return zsh_completion(program);
  if (shell == "fish") return fish_completion(program);
  return {};
}

}  // namespace sparkplan
