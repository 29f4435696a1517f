#pragma once

#include <string>

#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"

namespace sparkplan::test {

inline const std::string kProfiles = "/etc/NetworkManager/system-connections/";
inline const std::string kDirect = "fabric: {topology: direct, port: 1}\n";
inline const std::string kSwitch = "fabric: {topology: switch, port: 1}\n";

/// A host of the lab whose fabric NetworkManager manages, as after a first boot.
class FabricHost {
 public:
  explicit FabricHost(int number);
  const Host& operator*() const { return host_; }
  const Host* operator->() const { return &host_; }

  int mtu(const std::string& interface) const { return mtu_of(host_, interface); }
  Addresses addresses(const std::string& interface) const { return addresses_of(host_, interface); }
  /// The active profile, or the profile that NetworkManager is activating.
  std::string profile_on(const std::string& interface) const {
    return host_.shell("nmcli --get-values GENERAL.CONNECTION device show " + interface);
  }
  /// Adds a profile that remains after a boot. `settings` are lines of nm-settings-keyfile(5).
  void add_profile(const std::string& name, const std::string& settings) const {
    host_.write(kProfiles + name + ".nmconnection", "[connection]\nid=" + name + "\ntype=ethernet\n" + settings, 0600);
    host_.shell("chmod 600 " + kProfiles + "*; nmcli connection reload");
  }
  std::string started() const {
    return host_.shell("systemctl show -P ExecMainStartTimestampMonotonic NetworkManager systemd-networkd");
  }

 private:
  Host host_;
};

/// Requires the fabric of a switch, activated by profiles that netplan has generated.
void require_fabric(const FabricHost& host);
/// Requires that sparkplan has written no file, and that the generated profiles are still active.
void require_untouched(const FabricHost& host);

}  // namespace sparkplan::test
