#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::package {

/// A package that dpkg knows of. Source: dpkg(1), PACKAGE STATES; deb-control(5).
struct KnownPackage {
  std::string name;
  std::string architecture;  ///< "amd64", "all"
  std::string version;
  std::string state;            ///< The third word of Status: "installed", "half-configured", "config-files".
  std::set<std::string> needs;  ///< The names in Depends and Pre-Depends, alternatives among them.
  bool automatic = false;       ///< apt has brought it along for others that need it; nobody asked for it.

  bool installed() const { return state == "installed"; }
  /// Something was begun with it and not finished: dpkg wants it repaired before it does anything else.
  bool broken() const { return !installed() && state != "not-installed" && state != "config-files"; }
};

/// dpkg's own record of a node.
class DpkgStatus {
 public:
  /// Pure. Of dpkg's status file and apt's extended_states. Stanzas without a name or a status are passed over.
  static DpkgStatus parse(std::string_view text, std::string_view extended_states = {});
  /// I/O, read-only. Errors: kUnsupported where there is no dpkg; as NodeReader::read_file().
  static Result<DpkgStatus> read(const NodeReader& node);

  /// As apt-get understands it: "NAME" is of the node's own architecture or of all, "NAME:ARCHITECTURE" of that.
  /// Null when dpkg has not heard of it.
  const KnownPackage* find(std::string_view name) const;

  /// As apt-get prints it: without the architecture where that is the node's own. "curl:amd64" -> "curl"
  std::string name_to_apt(const std::string& name) const;

 private:
  /// By name; one for each architecture.
  std::multimap<std::string, KnownPackage, std::less<>> packages_;
  std::string own_architecture_;
};

/// `names` so that each comes before those that it needs, directly or through others of them; otherwise in their
/// order. Among packages that need each other, any comes first.
std::vector<std::string> dependents_first(const std::vector<std::string>& names,
                                          const std::map<std::string, std::set<std::string>>& needs);

}  // namespace sparkplan::package
