#pragma once

#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>

#include <array>
#include <memory>
#include <string>

#include "engine/core/result.h"

/// The common start of every request to rtnetlink. Only for the files that use libnl.
namespace sparkplan {

struct NetlinkSocketDeleter {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
struct NetlinkCacheDeleter {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
};
struct NetlinkAddressDeleter {
  void operator()(nl_addr* address) const { nl_addr_put(address); }
};
using NetlinkSocket = std::unique_ptr<nl_sock, NetlinkSocketDeleter>;
using NetlinkCache = std::unique_ptr<nl_cache, NetlinkCacheDeleter>;
using NetlinkAddress = std::unique_ptr<nl_addr, NetlinkAddressDeleter>;

/// The message of libnl for `code`.
inline tl::unexpected<Error> netlink_failure(const std::string& what, int code) {
  return failure(ErrorCode::kFailed, what + ": " + nl_geterror(code));
}

/// Empty for a null address.
inline std::string text_of(nl_addr* address) {
  std::array<char, 128> text{};
  return address == nullptr ? "" : nl_addr2str(address, text.data(), text.size());
}

/// Errors: kFailed.
inline Result<NetlinkSocket> open_netlink() {
  NetlinkSocket socket(nl_socket_alloc());
  if (!socket) return failure(ErrorCode::kFailed, "libnl returned no socket");
  if (const int code = nl_connect(socket.get(), NETLINK_ROUTE); code < 0) return netlink_failure("open netlink", code);
  return socket;
}

}  // namespace sparkplan
