#include "engine/init/applied.h"

namespace sparkplan {

std::map<std::string, Value> applied_of(const Manifest& manifest, const std::string& type) {
  std::map<std::string, Value> applied;
  for (const auto& [id, resource] : manifest.resources) {
    if (id.type == type) applied.emplace(id.name, resource.last_applied);
  }
  return applied;
}

}  // namespace sparkplan
