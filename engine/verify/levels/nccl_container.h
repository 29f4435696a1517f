#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/domain/container/job_container.h"
#include "engine/model/container_image.h"
#include "engine/wire/job_messages.h"

namespace sparkplan {

/// The container of one rank of the NCCL test.
struct RankContainer {
  std::string image;
  ContainerEngine engine = ContainerEngine::kDocker;
  ContainerHardware hardware = {};
};

/// Pure. The job that starts the rank's program in a container, as `run --image` starts a rank: with its devices, its
/// network and its limits. Mounted is the program alone, read-only. It takes the place of the image's entrypoint, whose
/// output would not be ours.
StartJob container_job(const RankContainer& container, const std::string& id);

/// An id that no other job has: each rank has its own, so that the end of one leaves the others of its node.
/// Errors: kFailed without a random source.
Result<std::string> new_container_id();

}  // namespace sparkplan
