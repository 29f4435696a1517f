#pragma once

#include <string>
#include <vector>

#include "tests/integration/host.h"

/// A host's interfaces as ip(8) and ping(8) show them.
namespace sparkplan::test {

using Addresses = std::vector<std::string>;

int mtu_of(const Host& host, const std::string& interface);
/// "192.168.100.11/24"; IPv4 only, sorted.
Addresses addresses_of(const Host& host, const std::string& interface);
bool is_up(const Host& host, const std::string& interface);
/// A frame of 9000 bytes that nobody on the way may cut, within 20 s.
bool full_frame_reaches(const Host& host, const std::string& address);

}  // namespace sparkplan::test
