#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/wire/measure_messages.h"

/// Sockets that use a single interface. For the files that measure between nodes.
namespace sparkplan {

/// Without options.
inline constexpr std::size_t kIpHeaderBytes = 20;
inline constexpr std::size_t kUdpHeaderBytes = 8;

/// Nothing for a text that is no IPv4 address.
inline std::optional<sockaddr_in> socket_address(const std::string& address, std::int64_t port) {
  sockaddr_in parsed{};
  parsed.sin_family = AF_INET;
  parsed.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &parsed.sin_addr) != 1) return std::nullopt;
  return parsed;
}

/// The form that system calls take.
inline const sockaddr* generic(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }
inline sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

/// `type` is SOCK_STREAM or SOCK_DGRAM. The socket does not block and is bound to the address and the interface; the
/// kernel chooses its port. Errors: kInvalidInput (no IPv4 address), those of the system calls.
inline Result<FileDescriptor> open_fabric_socket(const TrafficEndpoint& end, int type) {
  const auto address = socket_address(end.address, 0);
  if (!address) return failure(ErrorCode::kInvalidInput, end.address + " is no IPv4 address");
  FileDescriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failure(system_error("open a socket", errno));
  const auto size = static_cast<socklen_t>(end.interface.size() + 1);
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, end.interface.c_str(), size) != 0) {
    return failure(system_error("use the interface " + end.interface, errno));
  }
  if (::bind(socket.get(), generic(*address), sizeof *address) != 0) {
    return failure(system_error("use the address " + end.address, errno));
  }
  return socket;
}

}  // namespace sparkplan
