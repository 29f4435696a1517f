#include "engine/remote/programs/agent_image.h"

#include "carried_programs.inc"
#include "engine/wire/build_id.h"

namespace sparkplan {
namespace {

std::string_view bytes_of(const EmbeddedFile& file) {
  return {file.begin, static_cast<std::size_t>(file.end - file.begin)};
}

std::optional<ProgramImage> image_of(std::string_view program, std::string_view architecture) {
  for (const auto& carried : kCarriedPrograms) {
    if (program != carried.program || architecture != carried.architecture) continue;
    const std::string_view bytes = bytes_of(carried.file);
    return ProgramImage{carried.architecture, bytes, bytes_of(carried.packed), elf_build_id(bytes).value_or("")};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProgramImage> agent_image(std::string_view architecture) { return image_of("agent", architecture); }

bool is_this_build(std::string_view architecture, std::string_view build) {
  const auto image = agent_image(architecture);
  return image && image->build == build;
}

std::optional<ProgramImage> nccl_rank_image(std::string_view architecture) { return image_of("nccl", architecture); }

std::optional<ProgramImage> job_image(std::string_view architecture) { return image_of("job", architecture); }
std::optional<ProgramImage> copy_image(std::string_view architecture) { return image_of("copy", architecture); }

std::vector<std::string> agent_architectures() {
  std::vector<std::string> names;
  for (const auto& carried : kCarriedPrograms) {
    if (std::string_view(carried.program) == "agent") names.emplace_back(carried.architecture);
  }
  return names;
}

}  // namespace sparkplan
