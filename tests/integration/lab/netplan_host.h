#pragma once

#include <exception>
#include <string>

#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"

namespace sparkplan::test {

/// The halves of a Spark's first port.
inline const std::string kOtherA = "enp1s0f0np0";
inline const std::string kOtherB = "enP2p1s0f0np0";

/// A host with an unconfigured fabric, before and after a case.
class NetplanHost {
 public:
  explicit NetplanHost(int number) : host_(number) { reset(); }
  NetplanHost(const NetplanHost&) = delete;
  NetplanHost& operator=(const NetplanHost&) = delete;
  ~NetplanHost() {
    try {
      reset();
    } catch (const std::exception&) {  // The case has failed already; the next case resets the host again.
    }
  }
  const Host& operator*() const { return host_; }
  const Host* operator->() const { return &host_; }

  int mtu(const std::string& interface) const { return mtu_of(host_, interface); }
  Addresses addresses(const std::string& interface) const { return addresses_of(host_, interface); }
  bool is_up(const std::string& interface) const { return test::is_up(host_, interface); }
  bool full_frame_reaches(const std::string& address) const { return test::full_frame_reaches(host_, address); }

 private:
  void reset() const {
    host_.shell("rm -f /etc/netplan/*.yaml /run/netplan/*.yaml; netplan generate; networkctl reload; for half in " +
                kHalfA + " " + kHalfB + " " + kOtherA + " " + kOtherB +
                "; do ip address flush dev $half; ip link set dev $half down mtu 1500; done");
  }
  Host host_;
};

/// All files in configuration directories, with inode and times: one line each.
inline std::string configuration(const Host& host) {
  return host.shell("find /etc /root /home /run/systemd/network -printf '%p %i %m %u %T@ %C@\\n' | sort");
}

}  // namespace sparkplan::test
