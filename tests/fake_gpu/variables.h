#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

/// The properties of the fakes.
namespace sparkplan::test {

/// The environment variable, or else the line NAME=VALUE of /etc/fake-gpu.conf, for hosts of the lab: sshd passes no
/// variables on. Empty without either.
inline std::string variable(const std::string& name) {
  if (const char* value = std::getenv(name.c_str())) return value;
  std::ifstream file("/etc/fake-gpu.conf");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

/// "none" is no number.
inline double number(const std::string& name, double otherwise) {
  const auto text = variable(name);
  return text.empty() || text == "none" ? otherwise : std::stod(text);
}

}  // namespace sparkplan::test
