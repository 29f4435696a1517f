#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sparkplan {

/// An IPv4 address in host byte order.
struct Ipv4 {
  std::uint32_t bits = 0;

  auto operator<=>(const Ipv4&) const = default;
  std::string str() const;
};

/// A stretch of IPv4 addresses: "192.168.100.0/24".
struct Ipv4Network {
  Ipv4 base;  ///< Without host bits.
  int prefix_length = 0;

  bool operator==(const Ipv4Network&) const = default;
  bool contains(Ipv4 address) const;
  /// All of it.
  bool contains(const Ipv4Network& other) const;
  bool overlaps(const Ipv4Network& other) const;
  Ipv4 broadcast() const;
  std::string str() const;
};

/// An address with the network it is in: "192.168.177.11/24".
struct Ipv4Interface {
  Ipv4 address;
  int prefix_length = 0;

  Ipv4Network network() const;
};

/// Four decimal numbers without leading zeros; nothing else that inet_aton(3) would take.
std::optional<Ipv4> parse_ipv4(std::string_view text);
/// "ADDRESS/PREFIX" with a prefix of 0 to 32.
std::optional<Ipv4Interface> parse_ipv4_interface(std::string_view text);
/// The network of "ADDRESS/PREFIX", whatever its host bits; of "ADDRESS" alone that address.
std::optional<Ipv4Network> parse_ipv4_network(std::string_view text);

/// "192.168.100.11" as a number, the first part highest; nothing for what is no IPv4 address.
std::optional<std::uint32_t> ipv4_number(std::string_view address);

/// Both are IPv4 addresses of the one network that their common prefix length, 1 to 32, makes.
bool in_one_network(std::string_view one, std::string_view other, int prefix_length);

}  // namespace sparkplan
