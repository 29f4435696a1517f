#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/node/node.h"

namespace sparkplan::ssh_trust {

/// A numeric address in the form that sshd prints ("fd00::12" for "FD00:0::12"), so that equal addresses are equal
/// texts. An IPv4-mapped IPv6 address becomes the IPv4 address. Nothing for a name, or for an address with a zone
/// ("fe80::1%eth0"), which is valid on one machine only.
std::optional<std::string> canonical_ip(std::string_view address);

/// True for "fe80::1%eth0", which other nodes cannot use.
bool has_zone(std::string_view address);

/// True for a canonical address that another machine may see as a connection's source: not loopback, link-local,
/// multicast or unspecified. Private networks count. Source: RFC 6890; RFC 4291, 2.4.
bool is_global_unicast(const std::string& canonical);

/// The lasting addresses, canonical and global, of the interface that carries the connection to this node. Other
/// interfaces are excluded: container bridges have the same addresses on every machine. Temporary IPv6 addresses
/// (IFA_F_TEMPORARY) are excluded. Empty if the interface is unknown.
std::set<std::string> own_addresses(const NodeReader& node);

/// At most `most` of own_addresses(), sorted. If there are more, the connection's own address is kept first.
std::set<std::string> most_useful_addresses(const NodeReader& node, std::size_t most);

}  // namespace sparkplan::ssh_trust
