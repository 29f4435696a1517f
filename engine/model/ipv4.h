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

  auto operator<=>(const Ipv4&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
  std::string str() const;
};

/// A range of IPv4 addresses: "192.168.100.0/24".
struct Ipv4Network {
  Ipv4 base;  ///< Without host bits.
  int prefix_length = 0;

  bool operator==(const Ipv4Network&) const = default;
  bool contains(Ipv4 address) const;
  /// True if all of `other` is in this network.
  bool contains(const Ipv4Network& other) const;
  bool overlaps(const Ipv4Network& other) const;
  Ipv4 broadcast() const;
  std::string str() const;
};

/// An address with its network: "192.168.177.11/24".
struct Ipv4Interface {
  Ipv4 address;
  int prefix_length = 0;

  Ipv4Network network() const;
};

/// Four decimal numbers without leading zeros. Other forms that inet_aton(3) accepts are refused.
std::optional<Ipv4> parse_ipv4(std::string_view text);
/// "ADDRESS/PREFIX" with a prefix of 0 to 32.
std::optional<Ipv4Interface> parse_ipv4_interface(std::string_view text);
/// The network of "ADDRESS/PREFIX", with its host bits cleared. For "ADDRESS" alone, that address.
std::optional<Ipv4Network> parse_ipv4_network(std::string_view text);

/// "192.168.100.11" as a number, the first part highest; nothing for other texts.
std::optional<std::uint32_t> ipv4_number(std::string_view address);

/// True if both are IPv4 addresses in the same network of this prefix length, 1 to 32.
bool in_one_network(std::string_view one, std::string_view other, int prefix_length);

/// As above, for two ports with `address` and `prefix_length`: those of the file, or of a node.
template <class Port>
bool share_network(const Port& one, const Port& other) {
  return one.prefix_length == other.prefix_length && in_one_network(one.address, other.address, one.prefix_length);
}

}  // namespace sparkplan
