#include "engine/agent/netlink.h"

#include <linux/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace sparkplan {
namespace {

struct SocketDeleter {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
struct CacheDeleter {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
};
using Cache = std::unique_ptr<nl_cache, CacheDeleter>;

tl::unexpected<Error> netlink_failure(const char* what, int code) {
  return failure(ErrorCode::kFailed, std::string(what) + ": " + nl_geterror(code));
}

std::string text_of(nl_addr* address) {
  std::array<char, 128> text{};
  return address == nullptr ? "" : nl_addr2str(address, text.data(), text.size());
}

using LinksByIndex = std::map<int, LinkFacts>;

void add_link(nl_object* object, void* into) {
  auto* link = reinterpret_cast<rtnl_link*>(object);
  const unsigned int flags = rtnl_link_get_flags(link);
  if ((flags & IFF_LOOPBACK) != 0) return;
  LinkFacts facts;
  facts.name = rtnl_link_get_name(link);
  facts.mtu = static_cast<int>(rtnl_link_get_mtu(link));
  facts.up = (flags & IFF_UP) != 0;
  facts.carrier = (flags & (1U << 16)) != 0;  // IFF_LOWER_UP, which net/if.h and linux/if.h disagree on.
  nl_addr* hardware = rtnl_link_get_addr(link);
  if (hardware != nullptr && nl_addr_get_len(hardware) == 6) facts.mac = text_of(hardware);
  static_cast<LinksByIndex*>(into)->emplace(rtnl_link_get_ifindex(link), std::move(facts));
}

void add_address(nl_object* object, void* into) {
  auto* address = reinterpret_cast<rtnl_addr*>(object);
  auto& links = *static_cast<LinksByIndex*>(into);
  const auto found = links.find(rtnl_addr_get_ifindex(address));
  nl_addr* local = rtnl_addr_get_local(address);
  if (found == links.end() || local == nullptr) return;
  auto text = text_of(local);
  // libnl leaves the prefix away where it is the whole address.
  if (text.find('/') == std::string::npos) text += "/" + std::to_string(rtnl_addr_get_prefixlen(address));
  found->second.addresses.push_back(std::move(text));
}

}  // namespace

Result<std::vector<LinkFacts>> read_links() {
  const std::unique_ptr<nl_sock, SocketDeleter> socket(nl_socket_alloc());
  if (!socket) return failure(ErrorCode::kFailed, "libnl gave no socket");
  if (const int code = nl_connect(socket.get(), NETLINK_ROUTE); code < 0) return netlink_failure("open netlink", code);
  nl_cache* raw = nullptr;
  if (const int code = rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &raw); code < 0) {
    return netlink_failure("list the network interfaces", code);
  }
  const Cache links(raw);
  raw = nullptr;
  if (const int code = rtnl_addr_alloc_cache(socket.get(), &raw); code < 0) {
    return netlink_failure("list the addresses", code);
  }
  const Cache addresses(raw);
  LinksByIndex by_index;
  nl_cache_foreach(links.get(), add_link, &by_index);
  nl_cache_foreach(addresses.get(), add_address, &by_index);
  std::vector<LinkFacts> result;
  for (auto& [index, link] : by_index) {
    std::sort(link.addresses.begin(), link.addresses.end());
    result.push_back(std::move(link));
  }
  std::sort(result.begin(), result.end(), [](const LinkFacts& a, const LinkFacts& b) { return a.name < b.name; });
  return result;
}

}  // namespace sparkplan
