#include "engine/agent/trial/connectivity_snapshot.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/agent/kernel/netlink.h"

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

bool is_kernels_own(const std::string& address) { return address.starts_with("fe80:"); }

LinkState state_of(const LinkFacts& link) {
  LinkState state{link.name, link.mtu, link.up, {}};
  std::copy_if(link.addresses.begin(), link.addresses.end(), std::back_inserter(state.addresses),
               [](const std::string& address) { return !is_kernels_own(address); });
  return state;
}

const LinkFacts* find_link(const std::string& name, const std::vector<LinkFacts>& links) {
  const auto found = std::find_if(links.begin(), links.end(), [&](const LinkFacts& link) { return link.name == name; });
  return found == links.end() ? nullptr : &*found;
}

bool is_as(const LinkState& wanted, const std::vector<LinkFacts>& links) {
  const LinkFacts* link = find_link(wanted.name, links);
  // A missing interface cannot be restored from here.
  if (link == nullptr) return true;
  const LinkState now = state_of(*link);
  return now.mtu == wanted.mtu && now.up == wanted.up &&
         std::is_permutation(now.addresses.begin(), now.addresses.end(), wanted.addresses.begin(),
                             wanted.addresses.end());
}

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

Result<void> restore_links(const ConnectivitySnapshot& snapshot, LocalNode& node) {
  for (milliseconds waited{0}; waited < kPatience; waited += kPause) {
    SPARK_TRY(const auto links, node.links());
    const bool all = std::all_of(snapshot.links.begin(), snapshot.links.end(),
                                 [&](const LinkState& wanted) { return is_as(wanted, links); });
    SPARK_TRY(const auto routes, read_routes());
    if (all && missing_routes(snapshot, routes).empty()) return {};
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
    if (!is_as(wanted, links)) SPARK_CHECK(node.restore_link(wanted));
  }
  SPARK_TRY(const auto routes, read_routes());
  for (const KernelRoute& route : missing_routes(snapshot, routes)) {
    auto added = add_route(route);
    // A missing interface has no routes.
    if (!added && added.error().code != ErrorCode::kNotFound) return added;
  }
  return {};
}

}  // namespace

std::optional<std::string> filter_of(const Result<CommandOutput>& listed) {
  if (!listed && listed.error().code == ErrorCode::kNotFound) return "";
  if (!listed || listed->exit_status != 0) return std::nullopt;
  return listed->standard_output;
}

Result<ConnectivitySnapshot> read_snapshot(std::span<const Step> steps, LocalNode& node) {
  ConnectivitySnapshot snapshot;
  SPARK_TRY(const auto links, node.links());
  auto names = links_below(links_with_address(node.connection_address(), links), links);
  for (const LinkFacts& link : links) {
    if (names.contains(link.name)) snapshot.links.push_back(state_of(link));
  }
  for (const Step& step : steps) {
    if (find_link(step.artifact.name, links) != nullptr) names.insert(step.artifact.name);
  }
  SPARK_TRY(auto routes, read_routes());
  std::erase_if(routes, [&](const KernelRoute& route) { return !names.contains(route.interface); });
  snapshot.routes = std::move(routes);
  snapshot.filter = read_filter(node);
  return snapshot;
}

Result<void> restore_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node) {
  auto let_in = snapshot.filter ? restore_filter(*snapshot.filter, node) : Result<void>();
  SPARK_CHECK(restore_links(snapshot, node));
  return let_in;
}

void list_fields(FieldVisitor& field, LinkState& link) {
  field("name", link.name, kRequired);
  field("mtu", link.mtu);
  field("up", link.up);
  field("addresses", link.addresses, kOwnRecord);
}

void list_fields(FieldVisitor& field, KernelRoute& route) {
  field("interface", route.interface, kRequired);
  field("destination", route.destination, kRequired);
  field("gateway", route.gateway);
  field("metric", route.metric);
  field("protocol", route.protocol);
}

void list_fields(FieldVisitor& field, ConnectivitySnapshot& snapshot) {
  if (field.reading()) snapshot.filter.reset();
  field("links", snapshot.links, kOwnRecord);
  field("routes", snapshot.routes, kOwnRecord);
  field("filter", snapshot.filter, kOptional.no_longer_than(kLongestFilter));
}

}  // namespace sparkplan
