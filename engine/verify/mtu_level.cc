#include "engine/verify/mtu_level.h"

namespace sparkplan {

std::vector<Check> verify_mtu(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    checks.push_back(skipped("mtu/" + node.name(), Level::kMtu, {node.name()}, "not in this version"));
  }
  return checks;
}

}  // namespace sparkplan
