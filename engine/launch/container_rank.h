#pragma once

#include <string>

#include "engine/launch/job_plan.h"

/// A rank that runs in a container: `run --image`. Pure.
namespace sparkplan {

/// Errors: kInvalidInput for an image that no engine takes, or a launcher that cannot start containers.
Result<void> check_container(const JobRequest& request);

/// The rank as a client of the request's engine. The container has the host's network, the node's devices and mounts,
/// and the variables of the rank, whose values are on no command line. It is named and labelled by job and rank.
RankSpec in_container(RankSpec rank, const JobRequest& request, const JobMember& member, const std::string& id);

}  // namespace sparkplan
