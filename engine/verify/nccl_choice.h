#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/collective.h"
#include "engine/model/container_image.h"

namespace sparkplan {

/// The image of --image, whose NCCL is measured in place of the host's.
struct NcclImage {
  std::string name;
  ContainerEngine engine = ContainerEngine::kDocker;
  std::set<std::string> gpu_nodes = {};  ///< The names of nodes whose containers get GPUs.
};

/// The flags of the level nccl: --sizes, --collectives, --ranks-per-node, --library, --image. Empty fields are the
/// usual run.
struct NcclChoice {
  std::vector<std::int64_t> sizes = {};      ///< In bytes, smallest first. Not empty: out of place and in place.
  std::vector<Collective> collectives = {};  ///< Each once.
  std::optional<int> ranks_per_node = {};    ///< 0: one per GPU. Nothing: one.
  std::string library = {};                  ///< NCCL's file on all nodes, in place of `nccl: library`.
  std::optional<NcclImage> image = {};       ///< Nothing: no container.

  /// True for a run that is compared with earlier ones.
  bool usual() const { return sizes.empty() && !ranks_per_node && library.empty() && !image; }
  bool empty() const { return usual() && collectives.empty(); }
};

/// The most sizes of a sweep.
inline constexpr std::size_t kMostSizes = 64;
/// The largest size of a sweep: 1 TiB.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

/// Pure. "8B:8GiB:2" is 8 bytes, 16 bytes ... up to 8 GiB; without a factor, each size is twice the one before it.
/// Errors: kInvalidInput: no size, less than 4 bytes, more than kLargestSize, the first above the last, a factor below
/// 2, more than kMostSizes.
Result<std::vector<std::int64_t>> parse_sizes(std::string_view text);

/// Pure. "all", or "all_reduce,broadcast". Errors: kInvalidInput, with the nearest name.
Result<std::vector<Collective>> parse_collectives(std::string_view text);

/// Pure. "2", or "gpus", which is 0. Errors: kInvalidInput.
Result<int> parse_ranks_per_node(std::string_view text);

/// Pure. An absolute path. Errors: kInvalidInput.
Result<std::string> parse_library(std::string_view text);

/// "8 KiB", "1 GiB", "1000 bytes".
std::string size_text(std::int64_t bytes);

}  // namespace sparkplan
