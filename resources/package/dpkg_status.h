#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::package {

/// Source: dpkg(1), FILES.
inline constexpr std::string_view kStatusFile = "/var/lib/dpkg/status";

/// Lists the packages that apt installed automatically. Source: apt-mark(8), FILES.
inline constexpr std::string_view kExtendedStates = "/var/lib/apt/extended_states";

/// A package in dpkg's status file. Source: dpkg(1), PACKAGE STATES; deb-control(5).
struct KnownPackage {
  std::string name;
  std::string architecture;  ///< "amd64", "all"
  std::string version;
  std::string state;            ///< The third word of Status: "installed", "half-configured", "config-files".
  std::set<std::string> needs;  ///< The names in Depends and Pre-Depends, including alternatives.
  bool held = false;            ///< `apt-mark hold`: the first word of Status.
  bool automatic = false;       ///< apt installed it as a dependency; it was never requested itself.

  bool installed() const { return state == "installed"; }
  /// An operation on it was started and not finished: dpkg must repair it before other work.
  bool broken() const { return !installed() && state != "not-installed" && state != "config-files"; }
};

/// dpkg's own record of a node.
class DpkgStatus {
 public:
  /// Pure. Parses dpkg's status file and apt's extended_states. Stanzas without a name or a status are skipped.
  static DpkgStatus parse(std::string_view text, std::string_view extended_states = {});
  /// I/O, read-only. Errors: kUnsupported without dpkg; as NodeReader::read_file().
  static Result<DpkgStatus> read(const NodeReader& node);

  /// Finds a package as apt-get does: "NAME" has the node's own architecture or "all", "NAME:ARCHITECTURE" the given
  /// one or "all". Null if dpkg does not list it.
  const KnownPackage* find(std::string_view name) const;

  /// The name in apt-get's form: without the architecture if it is the node's own. "curl:amd64" -> "curl"
  std::string name_to_apt(const std::string& name) const;

 private:
  /// By name, with one entry per architecture.
  std::multimap<std::string, KnownPackage, std::less<>> packages_;
  std::string own_architecture_;
};

/// Orders `names` so that each package comes before the packages that it needs, directly or through others of the list.
/// Otherwise the order stays. In a cycle of needs, the first one visited is last.
std::vector<std::string> dependents_first(const std::vector<std::string>& names,
                                          const std::map<std::string, std::set<std::string>>& needs);

}  // namespace sparkplan::package
