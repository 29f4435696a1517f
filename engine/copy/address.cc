#include "engine/copy/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "engine/core/bounded_text.h"

namespace sparkplan::copy {

Result<SocketAddress> socket_address(const std::string& address, int port) {
  SocketAddress made;
  sockaddr_in four{};
  sockaddr_in6 six{};
  const auto wire_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = wire_port;
    std::memcpy(&made.storage, &four, sizeof four);
    made.size = sizeof four;
    return made;
  }
  if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = wire_port;
    std::memcpy(&made.storage, &six, sizeof six);
    made.size = sizeof six;
    return made;
  }
  return failure(ErrorCode::kInvalidInput, shown_text(address, 60) + " is not an IP address");
}

int port_of(const SocketAddress& address) {
  if (address.family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
}

bool same_host(const SocketAddress& one, const SocketAddress& other) {
  if (one.family() != other.family()) return false;
  if (one.family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&one.storage)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(&other.storage)->sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(&one.storage)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(&other.storage)->sin6_addr, sizeof(in6_addr)) == 0;
}

Result<FileDescriptor> listen_at(SocketAddress& own) {
  FileDescriptor listener(::socket(own.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.valid() && ::bind(listener.get(), own.get(), own.size) == 0 &&
      ::listen(listener.get(), SOMAXCONN) == 0 && ::getsockname(listener.get(), own.get(), &own.size) == 0) {
    return listener;
  }
  return failure(system_error("listen for connections", errno));
}

FileDescriptor accept_from(const FileDescriptor& listener, SocketAddress& from) {
  constexpr std::chrono::milliseconds kPause{20};
  from.size = sizeof from.storage;
  FileDescriptor socket(::accept4(listener.get(), from.get(), &from.size, SOCK_CLOEXEC));
  if (!socket.valid()) std::this_thread::sleep_for(kPause);
  return socket;
}

}  // namespace sparkplan::copy
