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

/// True for addresses that a host on a network can have: not 0.0.0.0/8, loopback, multicast or above.
bool is_host_address(Ipv4 address);

/// An IPv6 address, with a zone such as "%enP7s7" or without. Source: RFC 4291, RFC 4007.
bool is_ipv6(std::string_view text);

/// One label or several with dots between them, not all digits. Source: RFC 952, RFC 1123.
bool is_host_name(std::string_view text);

/// One spelling for equal addresses: IPv6 shortened, names in lower case. For comparing only.
std::string canonical_address(std::string_view text);

}  // namespace sparkplan
