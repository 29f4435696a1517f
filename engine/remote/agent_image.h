#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// A program for nodes as it is embedded in this one.
struct ProgramImage {
  std::string_view architecture;  ///< uname -m: "x86_64"
  std::string_view bytes;         ///< The whole ELF file.
  std::string_view packed;        ///< The same as gzip(1) packs it, for the way to a node.
  std::string build;              ///< elf_build_id(bytes)
};

/// The agent. Nothing when this build carries none for the architecture.
std::optional<ProgramImage> agent_image(std::string_view architecture);
/// The rank of the NCCL test, sparkplan-nccl; as agent_image().
std::optional<ProgramImage> nccl_rank_image(std::string_view architecture);
std::vector<std::string> agent_architectures();

}  // namespace sparkplan
