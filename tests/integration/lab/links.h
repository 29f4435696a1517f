#pragma once

#include <string>
#include <vector>

#include "tests/integration/lab/host.h"

/// A host's interfaces as ip(8) and ping(8) show them.
namespace sparkplan::test {

/// The halves of a Spark's second port, and the file in which sparkplan configures them.
inline const std::string kHalfA = "enp1s0f1np1";
inline const std::string kHalfB = "enP2p1s0f1np1";
inline const std::string kFabricFile = "/etc/netplan/60-sparkplan-fabric.yaml";

using Addresses = std::vector<std::string>;

int mtu_of(const Host& host, const std::string& interface);
/// "192.168.100.11/24"; IPv4 only, sorted.
Addresses addresses_of(const Host& host, const std::string& interface);
bool is_up(const Host& host, const std::string& interface);
/// True when an unfragmented frame of 9000 bytes gets a reply within 20 s.
bool full_frame_reaches(const Host& host, const std::string& address);

/// Requires that both halves are up, with an MTU of 9000 and the addresses that `direct` and `switch` assign to this
/// host.
void require_fabric_links(const Host& host);
/// Requires that sparkplan has written no file, and that neither half has an address.
void require_bare_links(const Host& host);

}  // namespace sparkplan::test
