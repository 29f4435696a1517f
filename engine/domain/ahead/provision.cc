#include "engine/domain/ahead/provision.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "engine/domain/storage/storage.h"

namespace sparkplan {
namespace {

/// Null if the plan has no change of that type.
const std::map<std::string, Value>* of_type(const ChangesAhead& ahead, const char* type) {
  const auto found = ahead.find(type);
  return found == ahead.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace

bool may_bring_file(const ChangesAhead& ahead, const std::string& path) {
  if (of_type(ahead, "package") != nullptr) return true;
  const auto* files = of_type(ahead, "file");
  if (files != nullptr && files->contains(path)) return true;
  const auto* mounts = of_type(ahead, "mount");
  return mounts != nullptr &&
         std::any_of(mounts->begin(), mounts->end(), [&](const auto& mount) { return is_within(path, mount.first); });
}

bool may_bring_modules(const ChangesAhead& ahead) {
  constexpr std::array<std::string_view, 5> kParts{"linux-", "dkms", "driver", "modules", "ofed"};
  const auto* packages = of_type(ahead, "package");
  return packages != nullptr && std::any_of(packages->begin(), packages->end(), [&](const auto& package) {
           return std::any_of(kParts.begin(), kParts.end(),
                              [&](std::string_view part) { return package.first.find(part) != std::string::npos; });
         });
}

}  // namespace sparkplan
