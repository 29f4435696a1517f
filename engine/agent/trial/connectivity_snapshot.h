#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/agent/kernel/netlink.h"
#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/model/fields.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"

namespace sparkplan {

/// The node's connectivity: the interfaces that carry our connection and the interfaces below them, their routes and
/// those of the changing interfaces, and the packet filter. It is stored during a trial, to restore what a rollback of
/// files does not restore.
struct ConnectivitySnapshot {
  std::vector<LinkState> links;
  std::vector<KernelRoute> routes;
  /// `nft list ruleset`; empty without nft or without rules. Nothing if the rules could not be read: they are then not
  /// restored.
  std::optional<std::string> filter = "";
  /// The address of our connection.
  std::string connection = {};
  /// seconds_since_boot() of that moment.
  std::int64_t taken_at = 0;
  /// The kernel's id of that boot; empty in a record of an earlier version.
  std::string boot = {};
};

/// Pure. What of the snapshot has to be there `now`, in seconds since the boot: without the addresses that have ended
/// since, and with the rest of the lifetime of the others. The address of our connection gets an hour at least,
/// because its DHCP client may still be at work. In another boot than that of the snapshot, no other address with an
/// end is left. `boot`: the id of this boot.
ConnectivitySnapshot still_due(ConnectivitySnapshot snapshot, std::int64_t now, const std::string& boot);

/// Pure. True if the interface has these settings and addresses, and no other address that is not acquired. A missing
/// interface cannot be restored, so it counts as restored.
bool shows(const LinkState& wanted, const std::vector<LinkFacts>& links);

/// Pure. The route as it has to be added by hand, so that one of DHCP or of a router advertisement ends by itself
/// unless it is renewed. An IPv4 route ends with its source address. Nothing is returned if that address is gone,
/// because its route is gone, too.
std::optional<KernelRoute> as_added(KernelRoute route, const std::vector<LinkFacts>& links);

/// Pure. Of `routes`, those that a rollback has to restore: through the interfaces of `connection`, and through
/// `changed`, without routes there that a DHCP client or router brings back by itself. A router may advertise any
/// number of routes: at most the first 1000 of them are among these.
std::vector<KernelRoute> routes_to_restore(std::vector<KernelRoute> routes, const std::set<std::string>& connection,
                                           const std::set<std::string>& changed);

/// Pure. True if it is no failure of a rollback that the route could not be added. A missing interface has no routes. A
/// gateway that was reached by an address that has ended is unreachable. An interface other than those of our
/// connection may have no address yet, because its carrier or its DHCP server is missing: its renderer adds both when
/// it has one.
bool may_be_missing(const KernelRoute& route, const ConnectivitySnapshot& snapshot,
                    const std::vector<LinkFacts>& links);

/// ConnectivitySnapshot::filter from the listed rules. A failed listing is different from an empty one.
std::optional<std::string> filter_of(const Result<CommandOutput>& listed);

/// The current state, also with the routes through the interfaces that `steps` change: a renderer that reconfigures an
/// interface drops routes added by hand. Errors: kFailed.
Result<ConnectivitySnapshot> read_snapshot(std::span<const Step> steps, LocalNode& node);

/// Pure. True if the interface, or one above it, carries our connection: its state decides whether the node can be
/// reached.
bool carries_connection(const std::string& interface, const ConnectivitySnapshot& snapshot);

/// Restores the changed parts that do not recover by themselves within a few seconds. Returns the parts that are left
/// to the renderers: "the route 10.5.0.0/16 through eth1". Errors: kFailed with the parts that could not be restored.
Result<std::vector<std::string>> restore_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node);

void list_fields(FieldVisitor& field, LinkState& link);
void list_fields(FieldVisitor& field, KernelRoute& route);
void list_fields(FieldVisitor& field, ConnectivitySnapshot& snapshot);

}  // namespace sparkplan
