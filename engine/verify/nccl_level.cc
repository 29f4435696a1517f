#include "engine/verify/nccl_level.h"

namespace sparkplan {

std::vector<Check> verify_nccl(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    checks.push_back(skipped("nccl/" + node.name(), Level::kNccl, {node.name()}, "not in this version"));
  }
  return checks;
}

}  // namespace sparkplan
