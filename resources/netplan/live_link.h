#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

inline constexpr std::string_view kLinkKind = "link";

/// The foreign NetworkManager profile that is active on the interface: {uuid, name}.
inline constexpr std::string_view kProfileBefore = "profile";

/// The interface in the kernel, as an artifact: {mtu, up, addresses, link_local, routes?}. The routes are those of our
/// file that the kernel has; without any in the file, the field is missing. Addresses of 169.254.0.0/16 are random, so
/// only their presence counts; fe80:: addresses belong to the kernel. Acquired addresses (LinkFacts::acquired) are left
/// out: a neighbour's DHCP or router advertisements may change them at any moment. Without a carrier, networkd sets no
/// addresses, and NetworkManager neither addresses nor an MTU: these fields are then not applicable. If netplan assigns
/// the interface to NetworkManager, the observation has the foreign profile that is active on it. It has none if our
/// file leaves the addresses to that profile.
ArtifactId link_artifact(const std::string& interface);
Observation observe_link(const std::string& interface, const NodeReader& node);
/// With all addresses but those of fe80::/64.
Value encode_link_state(const LinkFacts& link);
/// The link without its acquired addresses, except for `kept`. An address that a renderer has chosen from
/// 169.254.0.0/16 has no end, so it is not acquired; one of a DHCP server is.
LinkFacts without_acquired(LinkFacts link, const std::vector<std::string>& kept);

/// The kernel state that `stanza` asks for. Settings that the stanza does not manage stay as in `now`.
Observation link_state_wanted(const Stanza& stanza, const Value& now);

/// Brings the interface to the state `after`. If our file asks for it, its renderer configures it: networkd or
/// NetworkManager loads the files that netplan generates for the interfaces of our file, and for no others. If only the
/// MTU is managed, NetworkManager's own profile stays active, and netlink sets the MTU. Any other
/// state is an earlier one and is restored. NetworkManager activates its profile of that time if there is one, and
/// netlink sets the rest. If another netplan file configures the interface by now, that configuration applies. Returns
/// when the kernel shows the state.
/// Errors: kVerifyFailed if it does not within 10 s; kFailed with the tool's or the kernel's reason.
Result<void> activate_link(const std::string& interface, const Observation& after, Node& node);

/// The routes among `declared` that the kernel's main table has through the interface, as Route::str(). A route without
/// a declared metric may have any. Errors: as NodeReader::read_file(). Source: proc(5), /proc/net/route.
Result<std::vector<std::string>> shown_routes(const std::string& interface, const std::vector<Route>& declared,
                                              const NodeReader& node);

/// I/O, read-only. Nothing if there is no such interface. Errors: as NodeReader::links().
Result<std::optional<LinkFacts>> find_link(const std::string& interface, const NodeReader& node);

/// Whether networkd has reported, since it got these files, that the interface is configured. Its state file is meant
/// for libsystemd, so nothing depends on it: without a report, the kernel is watched for longer.
/// Source: systemd, src/network/networkd-link.c, link_save(); src/libsystemd/sd-network/sd-network.c.
bool networkd_is_done(const std::string& interface, const NodeReader& node);

/// The proof that the kernel's state is final: networkd removes addresses and restores them while it configures an
/// interface.
enum class SettledBy : std::uint8_t {
  kTime,      ///< The kernel has shown it for 100 ms without a break.
  kNetworkd,  ///< As kTime, or networkd reports that it is done.
};

/// The addresses that an interface may have beside the wanted ones.
enum class Besides : std::uint8_t {
  kNothing,   ///< Our file sets the addresses, and switches DHCP and router advertisements off.
  kAcquired,  ///< LinkFacts::acquired: others give them.
};

/// True once the kernel shows `wanted` and keeps it; false after `patience`. Fields that are missing in `wanted` are
/// not compared.
Result<bool> settles_as(const std::string& interface, const Value& wanted, std::chrono::milliseconds patience,
                        const NodeReader& node, SettledBy by = SettledBy::kTime, Besides besides = Besides::kNothing);

}  // namespace sparkplan::netplan
