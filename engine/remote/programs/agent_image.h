#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// A program for nodes, embedded in this program.
struct ProgramImage {
  std::string_view architecture;  ///< uname -m: "x86_64"
  std::string_view bytes;         ///< The whole ELF file.
  std::string_view packed;        ///< `bytes` compressed in the format of gzip(1), for the transfer to a node.
  std::string build;              ///< elf_build_id(bytes)
};

/// The agent. Nothing when this build contains none for the architecture.
std::optional<ProgramImage> agent_image(std::string_view architecture);
/// True if this program contains that agent: `build` is what it says of itself.
bool is_this_build(std::string_view architecture, std::string_view build);
/// The rank of the NCCL test, sparkplan-nccl; as agent_image().
std::optional<ProgramImage> nccl_rank_image(std::string_view architecture);
/// The process starter, sparkplan-job; as agent_image().
std::optional<ProgramImage> job_image(std::string_view architecture);
/// The program that copies directory trees, sparkplan-copy; as agent_image().
std::optional<ProgramImage> copy_image(std::string_view architecture);
std::vector<std::string> agent_architectures();

}  // namespace sparkplan
