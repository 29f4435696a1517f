// Routes and neighbours. Source: rtnetlink(7).
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include <array>
#include <memory>
#include <string>

#include "engine/agent/kernel/netlink.h"
#include "engine/agent/kernel/netlink_socket.h"
#include "engine/model/route_merger.h"

namespace sparkplan {
namespace {

/// With more routes per node, the facts of a run over a thousand nodes would be too large.
constexpr std::size_t kMostRoutes = 4096;

static_assert(kAdvertisedRoute == RTPROT_RA && kDhcpRoute == RTPROT_DHCP);

std::string interface_name(int index) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(static_cast<unsigned>(index), name.data()) == nullptr ? "" : name.data();
}

std::string protocol_name(int protocol) {
  switch (protocol) {
    case RTPROT_KERNEL:
      return "kernel";
    case RTPROT_BOOT:
      return "boot";
    case RTPROT_STATIC:
      return "static";
    case RTPROT_RA:
      return "ra";
    case RTPROT_DHCP:
      return "dhcp";
    default:
      return std::to_string(protocol);
  }
}

/// libnl omits a prefix that covers the whole address.
std::string destination_of(rtnl_route* route) {
  const bool version_6 = rtnl_route_get_family(route) == AF_INET6;
  nl_addr* destination = rtnl_route_get_dst(route);
  if (destination == nullptr || nl_addr_get_prefixlen(destination) == 0) return version_6 ? "::/0" : "0.0.0.0/0";
  auto text = text_of(destination);
  if (text.find('/') == std::string::npos) text += "/" + std::to_string(nl_addr_get_prefixlen(destination));
  return text;
}

void add_route_facts(nl_object* object, void* into) {
  auto* route = reinterpret_cast<rtnl_route*>(object);
  auto& routes = *static_cast<RouteMerger*>(into);
  if (rtnl_route_get_type(route) != RTN_UNICAST || rtnl_route_get_table(route) == RT_TABLE_LOCAL) return;
  RouteFacts facts;
  facts.destination = destination_of(route);
  if (facts.destination == "fe80::/64" || facts.destination == "ff00::/8") return;
  facts.metric = rtnl_route_get_priority(route);
  facts.protocol = protocol_name(rtnl_route_get_protocol(route));
  facts.table = static_cast<int>(rtnl_route_get_table(route));
  const int hops = rtnl_route_get_nnexthops(route);
  for (int i = 0; i < hops; ++i) {
    rtnl_nexthop* hop = rtnl_route_nexthop_n(route, i);
    facts.interface = interface_name(rtnl_route_nh_get_ifindex(hop));
    facts.gateway = text_of(rtnl_route_nh_get_gateway(hop));
    facts.link_down = (rtnl_route_nh_get_flags(hop) & (RTNH_F_LINKDOWN | RTNH_F_DEAD)) != 0;
    routes.add(facts);
  }
}

std::string state_name(int state) {
  constexpr std::array<std::pair<int, const char*>, 7> kNames{{{NUD_INCOMPLETE, "incomplete"},
                                                               {NUD_REACHABLE, "reachable"},
                                                               {NUD_STALE, "stale"},
                                                               {NUD_DELAY, "delay"},
                                                               {NUD_PROBE, "probe"},
                                                               {NUD_FAILED, "failed"},
                                                               {NUD_PERMANENT, "permanent"}}};
  for (const auto& [bit, name] : kNames) {
    if ((state & bit) != 0) return name;
  }
  return "";
}

void add_neighbour_facts(nl_object* object, void* into) {
  auto* neighbour = reinterpret_cast<rtnl_neigh*>(object);
  const auto state = state_name(rtnl_neigh_get_state(neighbour));
  nl_addr* address = rtnl_neigh_get_dst(neighbour);
  if (state.empty() || address == nullptr) return;
  static_cast<std::vector<NeighbourFacts>*>(into)->push_back({interface_name(rtnl_neigh_get_ifindex(neighbour)),
                                                              text_of(address),
                                                              text_of(rtnl_neigh_get_lladdr(neighbour)), state});
}

struct RouteDeleter {
  void operator()(rtnl_route* route) const { rtnl_route_put(route); }
};
constexpr const char* kDefault = "default";

void add_kernel_route(nl_object* object, void* into) {
  auto* route = reinterpret_cast<rtnl_route*>(object);
  const bool ordinary = rtnl_route_get_table(route) == RT_TABLE_MAIN && rtnl_route_get_type(route) == RTN_UNICAST &&
                        rtnl_route_get_nnexthops(route) == 1;
  // The kernel's own routes follow from the addresses.
  if (!ordinary || rtnl_route_get_protocol(route) == RTPROT_KERNEL) return;
  rtnl_nexthop* hop = rtnl_route_nexthop_n(route, 0);
  const std::string interface = interface_name(rtnl_route_nh_get_ifindex(hop));
  if (interface.empty()) return;
  nl_addr* destination = rtnl_route_get_dst(route);
  const bool is_default = destination == nullptr || nl_addr_get_prefixlen(destination) == 0;
  // A default route shows its family only by its gateway. The renderer restores a default route without a gateway.
  if (is_default && rtnl_route_nh_get_gateway(hop) == nullptr) return;
  static_cast<std::vector<KernelRoute>*>(into)->push_back(
      {interface, is_default ? kDefault : text_of(destination), text_of(rtnl_route_nh_get_gateway(hop)),
       static_cast<int>(rtnl_route_get_priority(route)), static_cast<int>(rtnl_route_get_protocol(route)),
       text_of(rtnl_route_get_pref_src(route))});
}

/// libnl does not know RTA_EXPIRES, so the attribute is put behind its own. Returns libnl's code.
int send_route(nl_sock* socket, rtnl_route* route, std::int64_t lifetime) {
  nl_msg* message = nullptr;
  if (const int code = rtnl_route_build_add_request(route, 0, &message); code < 0) return code;
  if (lifetime > 0 && nla_put_u32(message, RTA_EXPIRES, static_cast<std::uint32_t>(lifetime)) < 0) {
    nlmsg_free(message);
    return -NLE_NOMEM;
  }
  return nl_send_sync(socket, message);  // Frees the message.
}

Result<NetlinkCache> list_routes() {
  SPARK_TRY(const NetlinkSocket socket, open_netlink());
  nl_cache* routes = nullptr;
  const int code = rtnl_route_alloc_cache(socket.get(), AF_UNSPEC, 0, &routes);
  return code < 0 ? netlink_failure("list the routes", code) : Result<NetlinkCache>(routes);
}

}  // namespace

Result<std::vector<RouteFacts>> read_all_routes() {
  SPARK_TRY(const NetlinkCache all, list_routes());
  RouteMerger merger(kMostRoutes);
  nl_cache_foreach(all.get(), add_route_facts, &merger);
  if (auto routes = std::move(merger).take()) return *std::move(routes);
  return failure(ErrorCode::kUnsupported,
                 "there are routes through more than " + std::to_string(kMostRoutes) + " interfaces and networks");
}

Result<std::vector<NeighbourFacts>> read_neighbours() {
  SPARK_TRY(const NetlinkSocket socket, open_netlink());
  nl_cache* raw = nullptr;
  if (const int code = rtnl_neigh_alloc_cache(socket.get(), &raw); code < 0) {
    return netlink_failure("list the neighbours", code);
  }
  const NetlinkCache all(raw);
  std::vector<NeighbourFacts> neighbours;
  nl_cache_foreach(all.get(), add_neighbour_facts, &neighbours);
  return neighbours;
}

Result<std::vector<KernelRoute>> read_routes() {
  SPARK_TRY(const NetlinkCache routes, list_routes());
  std::vector<KernelRoute> result;
  nl_cache_foreach(routes.get(), add_kernel_route, &result);
  return result;
}

Result<void> add_route(const KernelRoute& route) {
  SPARK_TRY(const NetlinkSocket socket, open_netlink());
  const auto index = ::if_nametoindex(route.interface.c_str());
  if (index == 0) return failure(ErrorCode::kNotFound, "there is no interface " + route.interface);
  const std::unique_ptr<rtnl_route, RouteDeleter> wanted(rtnl_route_alloc());
  NetlinkAddress gateway;
  int family = AF_UNSPEC;
  if (!route.gateway.empty()) {
    SPARK_TRY(gateway, parse_address(route.gateway, AF_UNSPEC));
    family = nl_addr_get_family(gateway.get());
  }
  SPARK_TRY(const NetlinkAddress destination, parse_address(route.destination, family));
  rtnl_route_set_family(wanted.get(), static_cast<std::uint8_t>(nl_addr_get_family(destination.get())));
  rtnl_route_set_dst(wanted.get(), destination.get());
  rtnl_route_set_table(wanted.get(), RT_TABLE_MAIN);
  rtnl_route_set_protocol(wanted.get(), static_cast<std::uint8_t>(route.protocol));
  rtnl_route_set_priority(wanted.get(), static_cast<std::uint32_t>(route.metric));
  rtnl_route_set_scope(wanted.get(), gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  rtnl_route_nh_set_ifindex(hop, static_cast<int>(index));
  if (gateway) rtnl_route_nh_set_gateway(hop, gateway.get());
  rtnl_route_add_nexthop(wanted.get(), hop);
  if (!route.source.empty()) {
    SPARK_TRY(const NetlinkAddress source, parse_address(route.source, AF_UNSPEC));
    rtnl_route_set_pref_src(wanted.get(), source.get());
  }
  const int code = send_route(socket.get(), wanted.get(), route.lifetime);
  if (code >= 0 || code == -NLE_EXIST) return {};
  return netlink_failure("add the route to " + route.destination + " through " + route.interface, code);
}

}  // namespace sparkplan
