#include "engine/verify/tcp_level.h"

namespace sparkplan {

std::vector<Check> verify_tcp(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    checks.push_back(skipped("tcp/" + node.name(), Level::kTcp, {node.name()}, "not in this version"));
  }
  return checks;
}

}  // namespace sparkplan
