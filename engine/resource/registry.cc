#include "engine/resource/registry.h"

#include <algorithm>
#include <utility>

namespace sparkplan {

Registry::Registry(std::vector<std::unique_ptr<const ResourceType>> types) : types_(std::move(types)) {
  std::sort(types_.begin(), types_.end(), [](const auto& a, const auto& b) { return a->info().name < b->info().name; });
}

const ResourceType* Registry::find(std::string_view name) const {
  const auto found =
      std::find_if(types_.begin(), types_.end(), [name](const auto& type) { return type->info().name == name; });
  return found == types_.end() ? nullptr : found->get();
}

std::vector<const ResourceType*> Registry::of_section(std::string_view section) const {
  std::vector<const ResourceType*> found;
  for (const auto& type : types_) {
    if (type->info().section == section) found.push_back(type.get());
  }
  return found;
}

}  // namespace sparkplan
