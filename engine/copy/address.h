#pragma once

#include <sys/socket.h>

#include <string>

#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"

namespace sparkplan::copy {

/// A numeric IPv4 or IPv6 address, with a port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

/// "192.168.100.11", "fe80::1%eth0" is refused. Errors: kInvalidInput.
Result<SocketAddress> socket_address(const std::string& address, int port);
int port_of(const SocketAddress& address);
/// True if both are the same address; ports do not count.
bool same_host(const SocketAddress& one, const SocketAddress& other);

/// For ArrivalLimit. A link has a few connections; more come from strangers.
inline constexpr int kMostArrivals = 64;

/// Listens at `own`, which gets the port if it has none. The kernel keeps as many waiting connections as it may: those
/// of strangers do not keep out a real one. Errors: kFailed.
Result<FileDescriptor> listen_at(SocketAddress& own);

/// A connection that waits at `listener`, and its address in `from`. Invalid if no connection waits. After a failure it
/// waits a moment: without a free descriptor, the listener stays readable, and a loop around poll() would not pause.
FileDescriptor accept_from(const FileDescriptor& listener, SocketAddress& from);

}  // namespace sparkplan::copy
