#pragma once

#include <string>
#include <vector>

#include "engine/tune/search.h"
#include "engine/verify/levels/nccl_run.h"

namespace sparkplan {

/// Pure. The run of NCCL as a trial; its time is left to the caller. `ranks` are the names of the ranks, by place. Its
/// trouble names the rank with a failure, and blames no node for wrong data: any rank may have sent them.
TuneTrial trial_of(const NcclOutcome& outcome, const std::vector<std::string>& ranks);

}  // namespace sparkplan
