#include "engine/remote/ssh/tcp_connect.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/core/threads.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAddresses = 16;
constexpr std::chrono::milliseconds kConnectPause{50};  ///< Until a stop is noticed.

/// The addresses of a name. Shared with the thread that looks them up, which may outlive the wait for it.
struct Lookup {
  std::mutex mutex;
  std::condition_variable_any done;
  bool over = false;
  int code = 0;
  std::vector<std::pair<sockaddr_storage, socklen_t>> addresses;
};

void look_up(Lookup& lookup, const std::string& name, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(name.c_str(), port.c_str(), &hints, &found);
  const std::lock_guard lock(lookup.mutex);
  lookup.code = code;
  for (const addrinfo* one = found; code == 0 && one != nullptr; one = one->ai_next) {
    if (lookup.addresses.size() == kMostAddresses || one->ai_addrlen > sizeof(sockaddr_storage)) break;
    auto& address = lookup.addresses.emplace_back();
    std::copy_n(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen, reinterpret_cast<char*>(&address.first));
    address.second = one->ai_addrlen;
  }
  if (found != nullptr) ::freeaddrinfo(found);
  lookup.over = true;
  lookup.done.notify_all();
}

/// getaddrinfo() cannot be interrupted, so it runs in a separate thread.
Result<std::shared_ptr<Lookup>> addresses_of(const std::string& name, std::uint16_t port, Clock::time_point end,
                                             const std::stop_token& stop, const std::string& unknown_name) {
  const auto lookup = std::make_shared<Lookup>();
  look_up(*lookup, name, std::to_string(port), AI_NUMERICHOST);
  if (lookup->code == 0) return lookup;
  lookup->over = false;
  SPARK_TRY(auto asking,
            start_thread([lookup, name, port] { look_up(*lookup, name, std::to_string(port), AI_ADDRCONFIG); }));
  asking.detach();
  std::unique_lock lock(lookup->mutex);
  const bool over = lookup->done.wait_until(lock, stop, end, [&] { return lookup->over; });
  if (stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  const std::string what = "look up " + printable(name) + ": ";
  if (over && lookup->code == 0 && !lookup->addresses.empty()) return lookup;
  if (over && lookup->code != EAI_AGAIN)
    return failure(ErrorCode::kUnreachable, what + ::gai_strerror(lookup->code), unknown_name);
  return failure(ErrorCode::kUnreachable, what + (over ? ::gai_strerror(lookup->code) : "no answer in time"),
                 "this machine's DNS server does not answer: try again, or write the IP address");
}

/// A connected socket, or the errno of the failure; ETIMEDOUT when the time is over, EINTR at a stop.
int connect_to(const sockaddr_storage& address, socklen_t size, Clock::time_point end, const std::stop_token& stop,
               int& error) {
  const int descriptor = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  error = errno;
  if (descriptor < 0) return -1;
  error = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;
  while (error == EINPROGRESS) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (stop.stop_requested() || left.count() <= 0) {
      error = stop.stop_requested() ? EINTR : ETIMEDOUT;
      break;
    }
    pollfd writable{descriptor, POLLOUT, 0};
    if (::poll(&writable, 1, static_cast<int>(std::min(left, kConnectPause).count())) <= 0) continue;
    socklen_t length = sizeof error;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  }
  const int on = 1;
  if (error == 0) ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (error == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

/// A hint for the user after a connection failed with this errno.
std::string what_to_try(int error, const std::string& address, std::uint16_t port) {
  const std::string ping = "`ping " + printable(address) + "`";
  if (error == ECONNREFUSED)
    return "no sshd listens there: is port " + std::to_string(port) +
           " right? on the machine, try `systemctl status ssh`";
  if (error == ETIMEDOUT)
    return "is it switched on? if " + ping + " gets answers, a firewall may drop port " + std::to_string(port);
  return "is it switched on, and in a network of this machine? try " + ping;
}

/// "enp1s0, wlan0"
std::string interfaces_here() {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  struct if_nameindex* const all = ::if_nameindex();
  for (const struct if_nameindex* one = all; one != nullptr && one->if_index != 0; ++one) {
    if (std::string_view(one->if_name) != "lo" && names.size() < kNamed) names.push_back(printable(one->if_name));
  }
  if (all != nullptr) ::if_freenameindex(all);
  return join(names, ", ");
}

}  // namespace

Result<void> check_zone(const std::string& address) {
  const auto percent = address.find('%');
  in6_addr parsed{};
  if (::inet_pton(AF_INET6, address.substr(0, percent).c_str(), &parsed) != 1) return {};
  const std::string zone = percent == std::string::npos ? "" : address.substr(percent + 1);
  const bool is_number = !zone.empty() && zone.find_first_not_of("0123456789") == std::string::npos;
  if (zone.empty() && IN6_IS_ADDR_LINKLOCAL(&parsed)) {
    return failure(
        ErrorCode::kInvalidInput, address + " is a link-local address without the interface that leads there",
        "write the interface of this machine after it, as in " + address + "%eth0; here are " + interfaces_here());
  }
  if (zone.empty() || is_number || ::if_nametoindex(zone.c_str()) != 0) return {};
  return failure(ErrorCode::kInvalidInput,
                 "this machine has no interface " + printable(zone) + ", which " + printable(address) + " names",
                 "here are " + interfaces_here());
}

Result<int> connect_tcp(const std::string& address, std::uint16_t port, Clock::time_point end,
                        const std::stop_token& stop, const std::string& unknown_name) {
  if (stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  SPARK_CHECK(check_zone(address));
  SPARK_TRY(const auto lookup, addresses_of(address, port, end, stop, unknown_name));
  int error = 0;
  std::size_t left = lookup->addresses.size();
  for (const auto& [one, size] : lookup->addresses) {
    const auto now = Clock::now();
    const auto share = now + (end - now) / static_cast<Clock::rep>(left--);
    const int descriptor = connect_to(one, size, share, stop, error);
    if (descriptor >= 0) return descriptor;
    if (stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  }
  const std::string what = "connect to " + printable(address) + " port " + std::to_string(port);
  std::string hint = what_to_try(error, address, port);
  if (error == ETIMEDOUT) return failure(ErrorCode::kUnreachable, what + ": no answer in time", std::move(hint));
  return failure(Error{ErrorCode::kUnreachable, what, {}, error, std::move(hint)});
}

}  // namespace sparkplan
