#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// Every node to every node as each user of ssh_trust, with strict host key checking and without a question.
std::vector<Check> verify_ssh(Scene& scene);

}  // namespace sparkplan
