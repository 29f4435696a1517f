#include "engine/verify/storage_level.h"

namespace sparkplan {

std::vector<Check> verify_storage(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    checks.push_back(skipped("storage/" + node.name(), Level::kStorage, {node.name()}, "not in this version"));
  }
  return checks;
}

}  // namespace sparkplan
