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

struct NetlinkDeleter {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
  void operator()(nl_addr* address) const { nl_addr_put(address); }
};
using NetlinkSocket = std::unique_ptr<nl_sock, NetlinkDeleter>;
using NetlinkCache = std::unique_ptr<nl_cache, NetlinkDeleter>;
using NetlinkAddress = std::unique_ptr<nl_addr, NetlinkDeleter>;

/// The message of libnl for `code`.
inline tl::unexpected<Error> netlink_failure(const std::string& what, int code) {
  return failure(ErrorCode::kFailed, what + ": " + nl_geterror(code));
}

/// Empty for a null address.
inline std::string text_of(nl_addr* address) {
  std::array<char, 128> text{};
  return address == nullptr ? "" : nl_addr2str(address, text.data(), text.size());
}

/// `family`: AF_UNSPEC takes any. Errors: kFailed.
inline Result<NetlinkAddress> parse_address(const std::string& text, int family) {
  nl_addr* address = nullptr;
  const int code = nl_addr_parse(text.c_str(), family, &address);
  return code < 0 ? netlink_failure("read the address " + text, code) : Result<NetlinkAddress>(address);
}

/// Errors: kFailed.
inline Result<NetlinkSocket> open_netlink() {
  NetlinkSocket socket(nl_socket_alloc());
  if (!socket) return failure(ErrorCode::kFailed, "libnl returned no socket");
  if (const int code = nl_connect(socket.get(), NETLINK_ROUTE); code < 0) return netlink_failure("open netlink", code);
  return socket;
}

}  // namespace sparkplan
