#pragma once

#include <string>
#include <string_view>

namespace sparkplan {

/// The unit that keeps the connection to a subsystem: what mounts its volumes waits for it. Nothing that an NQN
/// of cluster.yaml may have in it has to be escaped.
inline std::string nvme_unit_name(std::string_view subsystem) {
  return "sparkplan-nvme-" + std::string(subsystem) + ".service";
}

}  // namespace sparkplan
