#include "engine/remote/agent_image.h"

#include "carried_programs.inc"
#include "engine/wire/build_id.h"

namespace sparkplan {
namespace {

std::optional<ProgramImage> image_of(std::string_view program, std::string_view architecture) {
  for (const auto& carried : kCarriedPrograms) {
    if (program != carried.program || architecture != carried.architecture) continue;
    const std::string_view bytes(carried.begin, static_cast<std::size_t>(carried.end - carried.begin));
    return ProgramImage{carried.architecture, bytes, elf_build_id(bytes).value_or("")};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProgramImage> agent_image(std::string_view architecture) { return image_of("agent", architecture); }

std::optional<ProgramImage> nccl_rank_image(std::string_view architecture) { return image_of("nccl", architecture); }

std::vector<std::string> agent_architectures() {
  std::vector<std::string> names;
  for (const auto& carried : kCarriedPrograms) {
    if (std::string_view(carried.program) == "agent") names.emplace_back(carried.architecture);
  }
  return names;
}

}  // namespace sparkplan
