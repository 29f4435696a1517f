#pragma once

#include <string>

#include "tests/integration/host.h"
#include "tests/integration/links.h"

namespace sparkplan::test {

inline const std::string kProfiles = "/etc/NetworkManager/system-connections/";
inline const std::string kDirect = "fabric: {topology: direct, port: 1}\n";
inline const std::string kSwitch = "fabric: {topology: switch, port: 1}\n";

/// A host of the lab whose fabric NetworkManager has, as after a first boot.
class FabricHost {
 public:
  explicit FabricHost(int number);
  const Host& operator*() const { return host_; }
  const Host* operator->() const { return &host_; }

  int mtu(const std::string& interface) const { return mtu_of(host_, interface); }
  Addresses addresses(const std::string& interface) const { return addresses_of(host_, interface); }
  /// The profile that NetworkManager has up, or is bringing up.
  std::string profile_on(const std::string& interface) const {
    return host_.shell("nmcli --get-values GENERAL.CONNECTION device show " + interface);
  }
  /// One that is there also after a boot. `settings` are lines of nm-settings-keyfile(5).
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

/// The fabric of a switch is there, by profiles that netplan has made.
void require_fabric(const FabricHost& host);
/// Nothing was written, and NetworkManager has what it has made up.
void require_untouched(const FabricHost& host);

}  // namespace sparkplan::test
