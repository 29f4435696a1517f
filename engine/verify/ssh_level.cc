#include "engine/verify/ssh_level.h"

namespace sparkplan {

std::vector<Check> verify_ssh(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    checks.push_back(skipped("ssh/" + node.name(), Level::kSsh, {node.name()}, "not in this version"));
  }
  return checks;
}

}  // namespace sparkplan
