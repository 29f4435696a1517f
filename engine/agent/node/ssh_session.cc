#include "engine/agent/node/ssh_session.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kVariable = "SSH_CONNECTION=";

std::string server_in(std::string_view connection) {
  const auto fields = split(connection, ' ');
  return fields.size() == 4 ? std::string(fields[2]) : "";
}

pid_t parent_of(pid_t process) {
  const auto text = kernel_file("/proc/" + std::to_string(process) + "/status");
  for (const auto line : split_lines(text)) {
    if (line.rfind("PPid:", 0) == 0)
      return static_cast<pid_t>(std::strtol(std::string(line.substr(5)).c_str(), nullptr, 10));
  }
  return 0;
}

}  // namespace

std::string ssh_server_address() {
  if (const char* connection = std::getenv("SSH_CONNECTION")) return server_in(connection);
  pid_t ancestor = ::getppid();
  for (int depth = 0; depth < 5 && ancestor > 1; ++depth, ancestor = parent_of(ancestor)) {
    const auto environment = kernel_file("/proc/" + std::to_string(ancestor) + "/environ");
    for (const auto variable : split(environment, '\0')) {
      if (variable.rfind(kVariable, 0) == 0) return server_in(variable.substr(kVariable.size()));
    }
  }
  return "";
}

std::uint32_t login_user_id() {
  if (const uid_t own = ::getuid(); own != 0) return own;
  const char* through_sudo = std::getenv("SUDO_UID");
  return through_sudo == nullptr ? 0 : parse_number<std::uint32_t>(through_sudo).value_or(0);
}

std::string ssh_session_process() {
  std::string found;
  pid_t process = ::getpid();
  for (int depth = 0; depth < 6 && process > 1; ++depth, process = parent_of(process)) {
    const auto directory = "/proc/" + std::to_string(process);
    // The outermost process: sudo's changes to the environment show nothing about a plain login.
    const auto environment = kernel_file(directory + "/environ");
    for (const auto variable : split(environment, '\0')) {
      if (variable.starts_with(kVariable)) found = directory;
    }
  }
  return found;
}

}  // namespace sparkplan
