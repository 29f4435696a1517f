#include "engine/resource/registry.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sparkplan {
namespace {

/// The order that readers of a file expect. A section that is missing here follows in the order of its type's name.
constexpr std::array<std::string_view, 14> kKnownSections = {
    "fabric", "nccl",    "sysctl",   "limits", "units", "profile_env", "ssh_trust",
    "hosts",  "storage", "packages", "users",  "files", "firewall",    "kernel_modules"};

}  // namespace

Registry::Registry(std::vector<std::unique_ptr<const ResourceType>> types) : types_(std::move(types)) {
  std::ranges::sort(types_, [](const auto& a, const auto& b) { return a->info().name < b->info().name; });
}

const ResourceType* Registry::find(std::string_view name) const {
  const auto found = std::ranges::find_if(types_, [name](const auto& type) { return type->info().name == name; });
  return found == types_.end() ? nullptr : found->get();
}

std::vector<const ResourceType*> Registry::of_section(std::string_view section) const {
  std::vector<const ResourceType*> found;
  for (const auto& type : types_) {
    if (type->info().section == section) found.push_back(type.get());
  }
  return found;
}

const RecordList* Registry::records_of(std::string_view section) const {
  for (const ResourceType* type : of_section(section)) {
    if (type->info().records) return &*type->info().records;
  }
  return nullptr;
}

std::vector<std::string> Registry::sections() const {
  std::vector<std::string> all(kKnownSections.begin(), kKnownSections.end());
  for (const auto& type : types_) {
    const std::string& section = type->info().section;
    if (std::ranges::find(all, section) == all.end()) all.push_back(section);
  }
  return all;
}

}  // namespace sparkplan
