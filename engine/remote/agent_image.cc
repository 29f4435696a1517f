#include "engine/remote/agent_image.h"

#include "agent_images.inc"
#include "engine/wire/build_id.h"

namespace sparkplan {

std::optional<AgentImage> agent_image(std::string_view architecture) {
  for (const auto& embedded : kEmbeddedAgents) {
    if (architecture != embedded.architecture) continue;
    const std::string_view bytes(embedded.begin, static_cast<std::size_t>(embedded.end - embedded.begin));
    return AgentImage{embedded.architecture, bytes, elf_build_id(bytes).value_or("")};
  }
  return std::nullopt;
}

std::vector<std::string> agent_architectures() {
  std::vector<std::string> names;
  for (const auto& embedded : kEmbeddedAgents) names.emplace_back(embedded.architecture);
  return names;
}

}  // namespace sparkplan
