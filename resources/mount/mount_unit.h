#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domain/storage/storage.h"

/// Mount units as text. Everything here is pure. Source: systemd.mount(5).
namespace sparkplan::mount {

/// "mnt-models.mount" for "/mnt/models".
std::string unit_name(std::string_view target);

/// The unit of one mount. It is wanted, never required, so that no boot waits for it; a volume of NVMe over TCP
/// is started by the unit of its connection instead, which is when it can be there.
std::string render_unit(const StorageMount& mount);

/// Where a volume of NVMe over TCP comes from.
struct VolumeServer {
  std::string address;
  int port = 0;
};

/// What a unit file of ours says of its mount; of any other text what can be found.
struct MountUnit {
  std::string what;
  std::string type;
  std::vector<std::string> options;
  bool enabled = false;  ///< It has an [Install] section.
  /// systemd passes over sections that begin with "X-": this one is for the way back to cluster.yaml.
  std::optional<VolumeServer> server = {};

  bool has_option(std::string_view option) const;
  /// False also where a quoted part might hide what counts.
  bool read_only() const;
};
/// The inverse of render_unit(), as far as it goes.
MountUnit parse_unit(std::string_view text);

/// The target whose [Install] section names the unit: where its link is.
std::string_view wanting_target(const std::vector<std::string>& options);

/// The same mount as a line of fstab(5), for programs that judge those.
std::string fstab_line(const MountUnit& unit, std::string_view target);

}  // namespace sparkplan::mount
