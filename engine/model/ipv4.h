#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sparkplan {

/// "192.168.100.11" as a number, the first part highest; nothing for what is no IPv4 address.
std::optional<std::uint32_t> ipv4_number(const std::string& address);

/// Both are IPv4 addresses of the one network that their common prefix length, 1 to 32, makes.
bool in_one_network(const std::string& one, const std::string& other, int prefix_length);

}  // namespace sparkplan
