#pragma once

#include <vector>

#include "engine/verify/check.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Pure. Names a node in the causes of its checks if all paths of one of its halves are narrow and other nodes' paths
/// are not: then its own cable has the fault. At least two other nodes must agree, because both ends of one path look
/// the same, and either may claim it. One partner may contradict them, and is then named as well, unless the answers
/// also fit a third node as the affected one. `checks` are those of `pairs`, in the same order.
void name_common_ends(const VerifyContext& context, const std::vector<HalfPair>& pairs, std::vector<Check>& checks);

}  // namespace sparkplan
