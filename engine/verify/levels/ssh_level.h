#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Every node to every node as each user of ssh_trust, with strict host key checking and without a question.
std::vector<Check> verify_ssh(VerifyContext& context);

}  // namespace sparkplan
