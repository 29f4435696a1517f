#pragma once

#include "engine/core/result.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/model/cluster.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Asks the selected nodes for the image of `options.nccl`, as the preflight of `run` does. Sets its engine and the
/// nodes with a GPU, or `options.refused` if it is not the same on all of them. A node that does not answer is left to
/// the run, which reports it. Errors: kFailed without a random source.
Result<void> find_image(const Cluster& cluster, const RunOptions& run, VerifyOptions& options);

}  // namespace sparkplan
