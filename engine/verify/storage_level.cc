#include "engine/verify/storage_level.h"

namespace sparkplan {

std::vector<Check> verify_storage(Scene& scene) {
  std::vector<Check> checks;
  for (const VerifyNode& node : scene.nodes) {
    const bool declared = node.spec->sections.contains("storage");
    checks.push_back(skipped("storage/" + node.name(), Level::kStorage, {node.name()},
                             declared ? "not in this version" : "nothing declared"));
  }
  return checks;
}

}  // namespace sparkplan
