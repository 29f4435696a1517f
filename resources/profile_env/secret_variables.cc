#include "resources/profile_env/secret_variables.h"

#include "engine/resource/shell_environment.h"

namespace sparkplan::profile_env {

std::string secret_path(std::string_view user, std::string_view variable) {
  return std::string(kSecretDirectory) + "/" + std::string(user) + "/" + std::string(variable);
}

std::string secret_line(const std::string& user, const std::string& variable) {
  const std::string path = shell_quote(secret_path(user, variable));
  return "if [ \"$(id -un)\" = " + shell_quote(user) + " ] && [ -r " + path + " ]; then export " + variable +
         "=\"$(cat " + path + ")\"; fi";
}

std::optional<std::pair<std::string, std::string>> parse_secret_line(std::string_view line) {
  const std::string before = "-r '" + std::string(kSecretDirectory) + "/";
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(begin + before.size());
  const std::size_t slash = rest.find('/');
  const std::size_t end = rest.find('\'');
  if (slash == std::string_view::npos || end == std::string_view::npos || end < slash) return std::nullopt;
  const std::string user(rest.substr(0, slash));
  const std::string variable(rest.substr(slash + 1, end - slash - 1));
  if (!is_variable_name(variable) || line != secret_line(user, variable)) return std::nullopt;
  return std::pair(user, variable);
}

}  // namespace sparkplan::profile_env
