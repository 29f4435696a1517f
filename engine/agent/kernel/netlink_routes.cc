// Routes of the main table. Source: rtnetlink(7).
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include <array>
#include <memory>
#include <string>

#include "engine/agent/kernel/netlink.h"
#include "engine/agent/kernel/netlink_socket.h"

namespace sparkplan {
namespace {

struct RouteDeleter {
  void operator()(rtnl_route* route) const { rtnl_route_put(route); }
};
constexpr const char* kDefault = "default";

void add(nl_object* object, void* into) {
  auto* route = reinterpret_cast<rtnl_route*>(object);
  const bool ordinary = rtnl_route_get_table(route) == RT_TABLE_MAIN && rtnl_route_get_type(route) == RTN_UNICAST &&
                        rtnl_route_get_nnexthops(route) == 1;
  // The kernel's own routes follow from the addresses.
  if (!ordinary || rtnl_route_get_protocol(route) == RTPROT_KERNEL) return;
  rtnl_nexthop* hop = rtnl_route_nexthop_n(route, 0);
  std::array<char, IF_NAMESIZE> name{};
  if (::if_indextoname(static_cast<unsigned>(rtnl_route_nh_get_ifindex(hop)), name.data()) == nullptr) return;
  nl_addr* destination = rtnl_route_get_dst(route);
  const bool is_default = destination == nullptr || nl_addr_get_prefixlen(destination) == 0;
  // A default route shows its family only by its gateway. The renderer restores a default route without a gateway.
  if (is_default && rtnl_route_nh_get_gateway(hop) == nullptr) return;
  static_cast<std::vector<KernelRoute>*>(into)->push_back(
      {name.data(), is_default ? kDefault : text_of(destination), text_of(rtnl_route_nh_get_gateway(hop)),
       static_cast<int>(rtnl_route_get_priority(route)), static_cast<int>(rtnl_route_get_protocol(route))});
}

Result<NetlinkAddress> parse(const std::string& text, int family) {
  nl_addr* raw = nullptr;
  if (const int code = nl_addr_parse(text.c_str(), family, &raw); code < 0) {
    return netlink_failure("read the address " + text, code);
  }
  return NetlinkAddress(raw);
}

}  // namespace

Result<std::vector<KernelRoute>> read_routes() {
  SPARK_TRY(const NetlinkSocket socket, open_netlink());
  nl_cache* raw = nullptr;
  if (const int code = rtnl_route_alloc_cache(socket.get(), AF_UNSPEC, 0, &raw); code < 0) {
    return netlink_failure("list the routes", code);
  }
  const NetlinkCache routes(raw);
  std::vector<KernelRoute> result;
  nl_cache_foreach(routes.get(), add, &result);
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
    SPARK_TRY(gateway, parse(route.gateway, AF_UNSPEC));
    family = nl_addr_get_family(gateway.get());
  }
  SPARK_TRY(const NetlinkAddress destination, parse(route.destination, family));
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
  const int code = rtnl_route_add(socket.get(), wanted.get(), 0);
  if (code >= 0 || code == -NLE_EXIST) return {};
  return netlink_failure("add the route to " + route.destination + " through " + route.interface, code);
}

}  // namespace sparkplan
