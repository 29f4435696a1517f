#pragma once

#include "engine/resource/resource_type.h"

namespace sparkplan::ssh_trust {

/// Pure. ResourceType::desired() of this type.
Desired desired_trust(const ClusterView& view, const Value& section);

}  // namespace sparkplan::ssh_trust
