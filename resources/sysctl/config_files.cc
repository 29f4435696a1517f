#include <array>
#include <filesystem>

#include "resources/sysctl/sysctl.h"

namespace sparkplan::sysctl {

Result<std::vector<ConfigFile>> later_config_files(const NodeReader& node) {
  static constexpr std::array<std::string_view, 5> kDirectories{
      "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"};
  const std::string own = std::filesystem::path(kOwnFile).filename();
  return read_config_files(kDirectories, ".conf", node, [&](const std::string& name) { return name > own; });
}

}  // namespace sparkplan::sysctl
