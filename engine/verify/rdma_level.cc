#include "engine/verify/rdma_level.h"

namespace sparkplan {

std::vector<Check> verify_rdma(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    checks.push_back(skipped("rdma/" + node.name(), Level::kRdma, {node.name()}, "not in this version"));
  }
  return checks;
}

}  // namespace sparkplan
