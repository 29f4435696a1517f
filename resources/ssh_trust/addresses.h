#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/node/node.h"

namespace sparkplan::ssh_trust {

/// A numeric address as sshd writes it ("fd00::12" of "FD00:0::12"), so that equal ones are equal texts;
/// an IPv4 address in IPv6's clothes is the IPv4 address. Nothing for a name, or for an address with a
/// zone ("fe80::1%eth0"), which means something on one machine only.
std::optional<std::string> canonical_ip(std::string_view address);

/// True for "fe80::1%eth0": another node can do nothing with it.
bool has_zone(std::string_view address);

/// True for a canonical address that another machine may see a connection come from: none of loopback,
/// link-local, multicast or unspecified. Private networks count. Source: RFC 6890; RFC 4291, 2.4.
bool is_global_unicast(const std::string& canonical);

/// The lasting addresses, canonical and global, of the interface that the connection to this node comes
/// in on. Bridges and pairs for containers are thereby left out: they have the same addresses on every
/// machine. Of IPv6 only those that the kernel does not call temporary. Empty where it cannot be told.
std::set<std::string> own_addresses(const NodeReader& node);

/// As many of own_addresses(), sorted; where there are more, that of the connection is among them.
std::set<std::string> most_useful_addresses(const NodeReader& node, std::size_t most);

}  // namespace sparkplan::ssh_trust
