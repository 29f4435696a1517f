#pragma once

#include <string>
#include <string_view>

#include "engine/model/ipv4.h"

namespace sparkplan {

/// True for an address that a host can have on a network: not 0.0.0.0/8, loopback, multicast or above.
bool is_host_address(Ipv4 address);

/// True for an IPv6 address, with or without a zone such as "%enP7s7". Source: RFC 4291, RFC 4007.
bool is_ipv6(std::string_view text);

/// True for an address of either version. False for a host name, which can resolve to any address.
bool is_ip_address(std::string_view text);

/// True for a valid address or network of IPv6, as in "fe80::1/64": no other one has a colon.
constexpr bool is_version_6(std::string_view address) { return address.find(':') != std::string_view::npos; }

/// An address or a name in front of a port or a path: IPv6 is in brackets.
std::string bracketed(const std::string& address);

/// One or more labels with dots between them; the last label is not all digits. Source: RFC 952, RFC 1123.
bool is_host_name(std::string_view text);

/// One spelling for equal addresses: IPv6 shortened, names in lower case without a final dot. For comparing only.
std::string canonical_address(std::string_view text);

}  // namespace sparkplan
