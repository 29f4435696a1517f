#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/container_image.h"

/// The needs of a job's container, for `run --image` and the exports. Everything here is pure.
namespace sparkplan {

/// A path of the node at the same place in the container.
struct BindMount {
  std::string path;
  bool read_only = false;
};

/// /etc/nccl.conf with a section `nccl`, the targets of `storage`, the paths of `models`, and the directories of models
/// of the hub. A path inside another one of them is left out.
std::vector<BindMount> job_mounts(const NodeSpec& node, const std::vector<std::string>& hub_models = {});

/// Variables that describe the node. In a container they would hide its own programs.
inline constexpr std::array<std::string_view, 3> kHostVariables{"PATH", "LD_LIBRARY_PATH", "HOME"};

/// The hardware of a node that a container gets.
struct ContainerHardware {
  bool gpus = false;
  bool rdma = false;
};

/// The flags of `docker run` or `podman run` that do not depend on the job: devices, the host's network and shared
/// memory, limits. Podman gives a container the limits of the login, and no more than those.
std::vector<std::string> job_container_flags(ContainerEngine engine, const ContainerHardware& hardware);

/// The beginning of a command line that starts the container of one rank: named and labelled by job and rank, with the
/// flags above and the mounts. Nothing is pulled. Further flags, the image and its command follow.
std::vector<std::string> container_words(ContainerEngine engine, const std::string& id, int rank,
                                         const ContainerHardware& hardware, const std::vector<BindMount>& mounts);

/// Errors: kInvalidInput for a name that no engine takes as an image, or takes as a flag.
Result<void> check_image_name(const std::string& name);

}  // namespace sparkplan
