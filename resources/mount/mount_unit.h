#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/domain/storage/storage.h"
#include "engine/resource/resource_type.h"

/// Mount units as text. Everything here is pure. Source: systemd.mount(5).
namespace sparkplan::mount {

/// "mnt-models.mount" for "/mnt/models".
std::string unit_name(std::string_view target);

/// The unit of one mount. Its target wants it and does not require it, so no boot waits for it. The unit of the
/// connection mounts a volume of NVMe over TCP, as soon as the volume is available.
std::string render_unit(const StorageMount& mount);

/// The server of an NVMe over TCP volume.
struct VolumeServer {
  std::string address;
  int port = 0;
};

/// The settings of a mount in our unit file; for other texts, the settings that are found.
struct MountUnit {
  std::string what;
  std::string type;
  std::vector<std::string> options;
  bool enabled = false;  ///< [Install] has WantedBy=.
  /// From our own section, for the way back to cluster.yaml. systemd ignores sections that begin with "X-".
  std::optional<VolumeServer> server = {};

  bool has_option(std::string_view option) const;
  /// False also if a quoted part might hide an option.
  bool read_only() const;
};
/// The inverse of render_unit(), as far as possible.
MountUnit parse_unit(std::string_view text);

/// Pure. The section `storage` with these mounts (target -> the last applied value): the inverse of render_unit().
/// Nothing if a unit is not one that a section renders.
std::optional<Value> section_of(const ValuesByName& applied);

/// Pure. Reports sources, targets and options in the section that a mount unit cannot have.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::mount
