#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Every pair of nodes with a GPU, then all of them: what NCCL's collectives carry.
std::vector<Check> verify_nccl(VerifyContext& context);

}  // namespace sparkplan
