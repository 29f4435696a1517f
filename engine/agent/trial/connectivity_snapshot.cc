#include "engine/agent/trial/connectivity_snapshot.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/agent/kernel/netlink.h"
#include "engine/agent/node/utc_time.h"
#include "engine/model/address.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToolDeadline{10'000};
/// A renderer restores an interface in much less than a second; DHCP takes longer.
constexpr milliseconds kPatience{4'000};
constexpr milliseconds kPause{100};

/// The record is the node's own, and lists the state that existed: it must never be too long to be read again.
constexpr ListRule kOwnRecord = kOptional.at_most(std::size_t{1} << 20);
constexpr std::size_t kLongestFilter = std::size_t{4} << 20;
constexpr std::size_t kMostRenewedRoutes = 1000;

bool is_kernels_own(const std::string& address) { return address.starts_with("fe80:"); }

/// A DHCP client may ask for its address all over again.
constexpr std::int64_t kForTheClient = 3600;
/// A router advertises its prefixes and routes at least each half hour. Source: RFC 4861, 6.2.1, MaxRtrAdvInterval.
constexpr std::int64_t kUntilNextAdvertisement = 1800;

std::string without_prefix(const std::string& address) { return address.substr(0, address.find('/')); }

LinkState state_of(const LinkFacts& link) {
  LinkState state{link.name, link.mtu, link.up, {}};
  for (const std::string& address : link.addresses) {
    if (is_kernels_own(address)) continue;
    state.addresses.push_back(address);
    const auto acquired = link.acquired.find(address);
    if (acquired != link.acquired.end() && acquired->second) state.lifetimes.emplace(address, *acquired->second);
  }
  return state;
}

const LinkFacts* find_link(const std::string& name, const std::vector<LinkFacts>& links) {
  const auto found = std::find_if(links.begin(), links.end(), [&](const LinkFacts& link) { return link.name == name; });
  return found == links.end() ? nullptr : &*found;
}

/// Of a DHCP client or of a router advertisement.
bool is_renewed(const KernelRoute& route) { return route.protocol == kDhcpRoute || route.protocol == kAdvertisedRoute; }

std::vector<KernelRoute> missing_routes(const ConnectivitySnapshot& snapshot, const std::vector<KernelRoute>& now) {
  std::vector<KernelRoute> missing;
  std::copy_if(snapshot.routes.begin(), snapshot.routes.end(), std::back_inserter(missing),
               [&](const KernelRoute& route) { return std::find(now.begin(), now.end(), route) == now.end(); });
  return missing;
}

std::optional<std::string> read_filter(LocalNode& node) {
  return filter_of(node.query(std::vector<std::string>{"nft", "--stateless", "list", "ruleset"}, kToolDeadline));
}

/// Unreadable rules are also replaced: the rules of the snapshot let our connection in.
Result<void> restore_filter(const std::string& filter, LocalNode& node) {
  if (read_filter(node) == filter) return {};
  SPARK_TRY(const auto directory, node.make_scratch_directory());
  const auto file = directory / "ruleset";
  SPARK_CHECK(node.write_file(file, private_file("flush ruleset\n" + filter)));
  SPARK_TRY(const auto output, node.run(std::vector<std::string>{"nft", "--file", file.string()}, kToolDeadline));
  if (output.exit_status == 0) return {};
  return failure(ErrorCode::kFailed, "nft rejects the rules from before the change: " + output.standard_error);
}

Result<std::vector<std::string>> restore_links(const ConnectivitySnapshot& snapshot, LocalNode& node) {
  for (milliseconds waited{0}; waited < kPatience; waited += kPause) {
    SPARK_TRY(const auto links, node.links());
    const bool all = std::all_of(snapshot.links.begin(), snapshot.links.end(),
                                 [&](const LinkState& wanted) { return shows(wanted, links); });
    SPARK_TRY(const auto routes, read_routes());
    if (all && missing_routes(snapshot, routes).empty()) return std::vector<std::string>();
    // Interfaces without a renderer do not recover by themselves. Their state and MTU are restored first.
    for (const LinkState& wanted : snapshot.links) {
      const LinkFacts* link = find_link(wanted.name, links);
      if (link != nullptr && (link->up != wanted.up || link->mtu != wanted.mtu)) {
        LinkState as_before = state_of(*link);
        as_before.up = wanted.up;
        as_before.mtu = wanted.mtu;
        SPARK_CHECK(node.restore_link(as_before));
      }
    }
    node.pause(kPause);
  }
  SPARK_TRY(const auto links, node.links());
  for (const LinkState& wanted : snapshot.links) {
    if (!shows(wanted, links)) SPARK_CHECK(node.restore_link(wanted));
  }
  SPARK_TRY(const auto routes, read_routes());
  SPARK_TRY(const auto restored, node.links());
  std::vector<std::string> left;
  for (const KernelRoute& route : missing_routes(snapshot, routes)) {
    const auto wanted = as_added(route, restored);
    const auto added = wanted ? add_route(*wanted) : Result<void>();
    if (added) continue;
    if (!may_be_missing(route, snapshot, restored)) return tl::unexpected<Error>(added.error());
    if (!is_renewed(route)) left.push_back("the route " + route.destination + " through " + route.interface);
  }
  return left;
}

}  // namespace

std::optional<std::string> filter_of(const Result<CommandOutput>& listed) {
  if (!listed && listed.error().code == ErrorCode::kNotFound) return "";
  if (!listed || listed->exit_status != 0) return std::nullopt;
  return listed->standard_output;
}

ConnectivitySnapshot still_due(ConnectivitySnapshot snapshot, std::int64_t now, const std::string& boot) {
  const std::int64_t passed = snapshot.boot.empty() || snapshot.boot == boot ? now - snapshot.taken_at : -1;
  for (LinkState& link : snapshot.links) {
    for (auto& [address, seconds] : link.lifetimes) {
      seconds = passed < 0 ? 0 : seconds - passed;
      if (without_prefix(address) == snapshot.connection) seconds = std::max(seconds, kForTheClient);
      if (seconds <= 0) std::erase(link.addresses, address);
    }
    std::erase_if(link.lifetimes, [](const auto& entry) { return entry.second <= 0; });
  }
  return snapshot;
}

bool shows(const LinkState& wanted, const std::vector<LinkFacts>& links) {
  const LinkFacts* link = find_link(wanted.name, links);
  if (link == nullptr) return true;
  const std::vector<std::string> now = state_of(*link).addresses;
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  return link->mtu == wanted.mtu && link->up == wanted.up &&
         std::all_of(wanted.addresses.begin(), wanted.addresses.end(),
                     [&](const std::string& address) { return has(now, address); }) &&
         std::all_of(now.begin(), now.end(), [&](const std::string& address) {
           return has(wanted.addresses, address) || link->acquired.contains(address);
         });
}

std::optional<KernelRoute> as_added(KernelRoute route, const std::vector<LinkFacts>& links) {
  if (!is_renewed(route)) return route;
  if (is_version_6(route.gateway) || is_version_6(route.destination)) {
    route.lifetime = kUntilNextAdvertisement;
    return route;
  }
  const LinkFacts* link = find_link(route.interface, links);
  if (link == nullptr) return std::nullopt;
  for (const std::string& address : link->addresses) {
    const std::string its_own = without_prefix(address);
    const bool may_be = route.source.empty() ? link->acquired.contains(address) : route.source == its_own;
    if (!may_be || is_version_6(address)) continue;
    route.source = its_own;
    return route;
  }
  // With an address that has no end, the route has none either.
  return route.source.empty() ? std::optional(std::move(route)) : std::nullopt;
}

std::vector<KernelRoute> routes_to_restore(std::vector<KernelRoute> routes, const std::set<std::string>& connection,
                                           const std::set<std::string>& changed) {
  std::erase_if(routes, [&](const KernelRoute& route) {
    return !connection.contains(route.interface) && (!changed.contains(route.interface) || is_renewed(route));
  });
  std::size_t renewed = 0;
  std::erase_if(routes, [&](const KernelRoute& route) { return is_renewed(route) && ++renewed > kMostRenewedRoutes; });
  return routes;
}

bool may_be_missing(const KernelRoute& route, const ConnectivitySnapshot& snapshot,
                    const std::vector<LinkFacts>& links) {
  return find_link(route.interface, links) == nullptr || is_renewed(route) ||
         !carries_connection(route.interface, snapshot);
}

bool carries_connection(const std::string& interface, const ConnectivitySnapshot& snapshot) {
  return std::ranges::any_of(snapshot.links, [&](const LinkState& one) { return one.name == interface; });
}

Result<ConnectivitySnapshot> read_snapshot(std::span<const Step> steps, LocalNode& node) {
  ConnectivitySnapshot snapshot;
  snapshot.connection = node.connection_address();
  snapshot.taken_at = seconds_since_boot();
  snapshot.boot = boot_id(node);
  SPARK_TRY(const auto links, node.links());
  const auto names = links_below(links_with_address(node.connection_address(), links), links);
  for (const LinkFacts& link : links) {
    if (names.contains(link.name)) snapshot.links.push_back(state_of(link));
  }
  std::set<std::string> changed;
  for (const Step& step : steps) {
    if (find_link(step.artifact.name, links) != nullptr) changed.insert(step.artifact.name);
  }
  SPARK_TRY(auto routes, read_routes());
  snapshot.routes = routes_to_restore(std::move(routes), names, changed);
  snapshot.filter = read_filter(node);
  return snapshot;
}

Result<std::vector<std::string>> restore_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node) {
  auto let_in = snapshot.filter ? restore_filter(*snapshot.filter, node) : Result<void>();
  SPARK_TRY(auto left, restore_links(still_due(snapshot, seconds_since_boot(), boot_id(node)), node));
  SPARK_CHECK(std::move(let_in));
  return left;
}

void list_fields(FieldVisitor& field, LinkState& link) {
  field("name", link.name, kRequired);
  field("mtu", link.mtu);
  field("up", link.up);
  field("addresses", link.addresses, kOwnRecord);
  field("lifetimes", link.lifetimes, kOwnRecord);
}

void list_fields(FieldVisitor& field, KernelRoute& route) {
  field("interface", route.interface, kRequired);
  field("destination", route.destination, kRequired);
  field("gateway", route.gateway);
  field("metric", route.metric);
  field("protocol", route.protocol);
  field("source", route.source);
}

void list_fields(FieldVisitor& field, ConnectivitySnapshot& snapshot) {
  if (field.reading()) snapshot.filter.reset();
  field("links", snapshot.links, kOwnRecord);
  field("routes", snapshot.routes, kOwnRecord);
  field("filter", snapshot.filter, kOptional.no_longer_than(kLongestFilter));
  field("connection", snapshot.connection);
  field("taken_at", snapshot.taken_at);
  field("boot", snapshot.boot);
}

}  // namespace sparkplan
