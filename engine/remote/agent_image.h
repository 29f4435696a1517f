#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// An agent as it is embedded in this program.
struct AgentImage {
  std::string_view architecture;  ///< uname -m: "x86_64"
  std::string_view bytes;         ///< The whole ELF file.
  std::string build;              ///< elf_build_id(bytes)
};

/// Nothing when this build carries no agent for the architecture.
std::optional<AgentImage> agent_image(std::string_view architecture);
std::vector<std::string> agent_architectures();

}  // namespace sparkplan
